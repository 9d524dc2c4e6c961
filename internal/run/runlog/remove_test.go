package runlog_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// What a run has written is removed, and nothing else.
func TestRemove(t *testing.T) {
	marks := map[string][]string{"report.md": {"ours"}, "junit.xml": {"ours"}}
	artifact := filepath.Join("artifacts", strings.Repeat("0a", 32))
	fill := func(names ...string) string {
		t.Helper()
		dir := t.TempDir()
		for _, name := range append(names, "results.jsonl", "results.before-1.jsonl", "report.md", artifact) {
			path := filepath.Join(dir, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755),
				os.WriteFile(path, []byte("ours"), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		if err := runlog.WriteRun(dir, result.Run{Schema: result.Schema, ID: "one"}); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	dir := fill()
	if err := runlog.Remove(t.Context(), dir, "one", marks); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is there: %v", err)
	}
	if err := runlog.Remove(t.Context(), dir, "one", marks); err != nil {
		t.Errorf("a run that is gone: %v", err)
	}
	dir = fill("notes.txt", "artifacts/notes.txt", "earlier/x/run.json")
	if err := os.WriteFile(filepath.Join(dir, "junit.xml"), []byte("somebody's"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := runlog.Remove(t.Context(), dir, "another", marks); err != nil || len(files(t, dir)) < 8 {
		t.Errorf("%v, %v: the folder has another run", err, files(t, dir))
	}
	lock, err := runlog.AcquireLock(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	err = runlog.Remove(t.Context(), dir, "one", marks)
	if _, busy := errors.AsType[*runlog.BusyError](err); !busy {
		t.Errorf("a run that goes on: %v", err)
	}
	if err := errors.Join(lock.Release(), runlog.Remove(t.Context(), dir, "one", marks)); err != nil {
		t.Fatal(err)
	}
	left := files(t, dir)
	slices.Sort(left)
	if want := []string{
		"artifacts/notes.txt", "earlier/x/run.json", "junit.xml", "notes.txt",
	}; !slices.Equal(left, want) {
		t.Errorf("%v is left, want %v", left, want)
	}
}
