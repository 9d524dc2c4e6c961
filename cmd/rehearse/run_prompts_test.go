package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/model/langfuse/langfusetest"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// TestRunLocalPrompt holds that a run asks Langfuse for the prompts of chatbots, and with --local-prompt does not, also
// when it is resumed.
func TestRunLocalPrompt(t *testing.T) {
	root, err := filepath.Abs("../../examples/sites")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"rehearse.yaml": fmt.Sprintf(
			"targets: {kestrel: {kind: sitebot, sites: %[1]s/kestrel-rota.yaml, model: 'scripted:%[1]s/bot.yaml'}}",
			root),
		"suite.yaml": "name: s\ntests: [{id: a, input: What does it cost?, assertions: [{type: contains, value: " +
			"Nest}]}]",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		args  []string
		asked bool
	}{
		{[]string{"suite.yaml", "--out", "a"}, true},
		{[]string{"suite.yaml", "--out", "b", "--local-prompt"}, false},
		{[]string{"--resume", "b"}, false},
	} {
		p := &program{server: langfusetest.New(t), variables: map[string]string{}}
		code, stdout, stderr := p.run(t, append([]string{"run"}, tc.args...)...)
		asked := slices.ContainsFunc(p.server.Requests(), func(r string) bool {
			return strings.Contains(r, "/prompts")
		})
		if code != result.ExitPassed || asked != tc.asked {
			t.Errorf("%v: exit code %d, prompts asked for: %v, want %v\n%s\n%s", tc.args, code, asked, tc.asked,
				stdout, stderr)
		}
	}
}
