package evaluation_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rehearse-dev/rehearse/internal/app/evaluation"
)

// A watch of suites in several folders tells of new content and of new and vanished files, and of nothing else.
func TestWatch(t *testing.T) {
	root := t.TempDir()
	write := func(name, content string) {
		t.Helper()
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var suites []string
	for _, name := range []string{"d", "a", "c", "b"} {
		write(name+"/suite.yaml", "tests: []\n")
		suites = append(suites, filepath.Join(root, name, "suite.yaml"))
	}
	later := time.Now().Add(time.Hour)
	synctest.Test(t, func(t *testing.T) {
		w := evaluation.NewWatch(suites, filepath.Join(root, "a", "tape.jsonl"))
		for _, tc := range []struct {
			name    string
			act     func() error
			changed bool
		}{
			{"nothing", func() error { return nil }, false},
			{"a touch", func() error { return os.Chtimes(suites[0], later, later) }, false},
			{
				"another content of the same size", func() error { write("b/suite.yaml", "tests: []#"); return nil },
				true,
			},
			{"nothing after a change", func() error { return nil }, false},
			{"a prompt beside a suite", func() error { write("c/rules.md", "be kind"); return nil }, true},
			{"a recording", func() error { write("a/tape.jsonl", "{}"); return nil }, false},
			{"a log", func() error { write("a/run.log", "x"); return nil }, false},
			{"the results of a run", func() error {
				write("a/out/run.json", "{}")
				write("a/out/report.md", "x")
				return nil
			}, false},
			{"a file that goes", func() error { return os.Remove(filepath.Join(root, "c", "rules.md")) }, true},
			{"a suite that goes", func() error { return os.Remove(suites[1]) }, true},
			{"a suite that comes back", func() error { write("a/suite.yaml", "tests: []\n"); return nil }, true},
		} {
			if err := tc.act(); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			err := w.Changed(ctx)
			if changed := err == nil; changed != tc.changed || !changed && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v, want a change: %v", tc.name, err, tc.changed)
			}
			cancel()
		}
	})
}
