package runlog_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// files returns the names of the files in a folder and below it.
func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			name, _ := filepath.Rel(dir, path)
			names = append(names, filepath.ToSlash(name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestMoveAside(t *testing.T) {
	dir := t.TempDir()
	fill := func(id string, names ...string) {
		t.Helper()
		if err := runlog.WriteRun(dir, result.Run{Schema: result.Schema, ID: id}); err != nil {
			t.Fatal(err)
		}
		for _, name := range append(names, runlog.LogFile) {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(id), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	move := func(want string) {
		t.Helper()
		aside, err := runlog.MoveAside(dir, map[string][]string{"report.md": {"one"}, "junit.xml": {"one"}})
		if err != nil || want != "" && aside != filepath.Join(dir, "earlier", want) || want == "" && aside != "" {
			t.Errorf("MoveAside = %q, %v, want %q", aside, err, want)
		}
	}
	move("")
	fill("one", "report.md", "notes.txt", "results.before-1.jsonl", runlog.TornFile)
	move("one")
	move("")
	if err := os.WriteFile(filepath.Join(dir, "report.md"), []byte("my own words"), 0o600); err != nil { // stays
		t.Fatal(err)
	}
	fill("one", "junit.xml")
	move("one-2") // never over what is there
	fill("../../../outside")
	move("unknown")
	// without its run.json
	if err := os.WriteFile(filepath.Join(dir, runlog.LogFile), []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	move("unknown-2")
	want := []string{
		"earlier/one/report.md", "earlier/one/results.before-1.jsonl", "earlier/one/results.jsonl",
		"earlier/one/results.jsonl.torn", "earlier/one/run.json", "earlier/one-2/junit.xml",
		"earlier/one-2/results.jsonl", "earlier/one-2/run.json", "earlier/unknown/results.jsonl",
		"earlier/unknown/run.json", "earlier/unknown-2/results.jsonl", "notes.txt", "report.md",
	}
	if d := cmp.Diff(want, files(t, dir)); d != "" {
		t.Errorf("files mismatch (-want +got):\n%s", d)
	}
}
