package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// A run that is stopped at once, before its folder is there, was interrupted; it is no mistake of its command line.
func TestStoppedBeforeItBegan(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"suite.yaml": "tests: [{id: a, input: hi}]", "agent.yaml": "default: {reply: hello}",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	env, out := secretsEnv(nil)
	if code := Main(stopped, env, []string{
		"run", "suite.yaml", "--target", "scripted:agent.yaml", "--out", "out",
	}); code != result.ExitInterrupted {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	if _, err := os.Stat(filepath.Join("out", "run.json")); err == nil {
		t.Error("a run.json was written")
	}
}
