package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/target"
)

func TestVariables(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rehearse.yaml")
	if err := os.WriteFile(path, []byte(`
models:
  a: {provider: openai, model: "x-${{ SET }}-${{ EMPTY }}-${{ NONE:-b c }}-${{NONE:-}}-${{ BRACES }}"}
  b: {provider: openai, model: "${{ NONE }}", base_url: "${{ SET }}${{ OTHER }}"}
targets:
  shop: {model: a, api_key_env: "${{ NONE }}"}
  shopping: {model: b}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	variables := map[string]string{"SET": "set", "EMPTY": "", "BRACES": "{{ message }} ${{ SET }}"}
	f, err := config.Load(source.Files{}, path, target.Kinds(), func(name string) (string, bool) {
		v, ok := variables[name]
		return v, ok
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := f.Models["a"].Name, `x-set--b c--\{{ message }} $\{{ SET }}`; got != want {
		t.Errorf("the name is %q, want %q", got, want)
	}
	for place, want := range map[string][]string{"a": nil, "b": {"NONE", "OTHER"}} {
		if diff := cmp.Diff(want, f.Unset("models", place)); diff != "" {
			t.Errorf("models.%s: %s", place, diff)
		}
		if diff := cmp.Diff(want, f.Models[place].Unset); diff != "" {
			t.Errorf("model %s: %s", place, diff)
		}
	}
	if diff := cmp.Diff([]string{"NONE"}, f.Unset("targets", "shop")); diff != "" {
		t.Error(diff)
	}
	if got := f.Unset("targets", "shopping"); got != nil {
		t.Errorf("shopping needs %v", got)
	}
	if diff := cmp.Diff([]string{"NONE", "OTHER"}, f.Targets["shopping"].Model.Unset); diff != "" {
		t.Error(diff)
	}
}
