package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/target"
)

func load(t *testing.T, yaml string) (config.File, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), config.Name)
	if err := os.WriteFile(path, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := config.Load(source.Files{}, path, target.Kinds(), os.LookupEnv)
	f.Path, f.Dir = "", ""
	for name, m := range f.Models {
		m.Dir = ""
		f.Models[name] = m
	}
	for name, one := range f.Targets {
		one.Model.Dir = ""
		f.Targets[name] = one
	}
	return f, err
}

func TestLoad(t *testing.T) {
	got, err := load(t, `
target: bot
workers: 4
models:
  local: {provider: openai, model: llama3, base_url: "http://localhost:1/v1", temperature: 0.2, retries: 0, timeout: 5s}
targets:
  bot: {model: local, temperature: 0}
  short: scripted:agent.yaml
judge: {model: openai:gpt-5, secondary: local, complexity: 6, samples: 3}
`)
	if err != nil {
		t.Fatal(err)
	}
	local := config.Model{
		Provider: "openai", Name: "llama3", BaseURL: "http://localhost:1/v1", Temperature: new(0.2), Retries: new(0),
		Timeout: 5e9,
	}
	bot := local
	bot.Temperature = new(0.0)
	if diff := cmp.Diff(map[string]config.Target{
		"bot": target.OfModel(bot), "short": target.OfModel(config.Model{Provider: "scripted", Name: "agent.yaml"}),
	}, got.Targets); diff != "" {
		t.Errorf("targets mismatch (-want +got):\n%s", diff)
	}
	if got.Judge.Primary.String() != "openai:gpt-5" || got.Judge.Secondary.Name != "llama3" || got.Judge.Samples != 3 ||
		got.Judge.Complexity != 6 || got.Workers != 4 {
		t.Errorf("got %+v", got)
	}
}

func TestLoadProblems(t *testing.T) {
	for yaml, want := range map[string]string{
		"targts: {}":                                `1:1: targts: unknown key "targts" (did you mean "targets"?)`,
		"targets: {a: {model: gpt}}":                `"gpt" is not PROVIDER:MODEL`,
		"targets: {a: {temperature: 0}}":            "a model needs a name",
		"targets: {a: openai:x}\ntarget: b":         `2:9: target: there is no target called "b"`,
		"targets: {a: {model: x:y, kind: teapot}}":  `unknown value "teapot"`,
		"models: {m: {model: x:y, temperature: 9}}": "9 is out of range",
		"judge: {model: x:y, samples: 0}":           "0 is too small",
		"a: [":                                      "not valid YAML",
	} {
		if _, err := load(t, yaml); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Load(%q) = %v, want %q", yaml, err, want)
		}
	}
	if _, err := config.Load(source.Files{}, filepath.Join(t.TempDir(), "no.yaml"), target.Kinds(),
		os.LookupEnv); err == nil || !strings.Contains(err.Error(), "check --config") {
		t.Errorf("Load of a missing file = %v", err)
	}
}

func TestFind(t *testing.T) {
	root := t.TempDir()
	deep := filepath.Join(root, "a", "b")
	if err := os.MkdirAll(deep, 0o750); err != nil {
		t.Fatal(err)
	}
	want := filepath.Join(root, "a", config.Name)
	if err := os.WriteFile(want, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := config.Find(source.Files{}, deep); got != want {
		t.Errorf("Find = %q, want %q", got, want)
	}
}
