package demo_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/rehearse-dev/rehearse/examples"
	"github.com/rehearse-dev/rehearse/internal/app/demo"
	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// TestWrite holds that every file is written once: what a user changed stays.
func TestWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "look")
	if err := demo.Write(dir); err != nil {
		t.Fatal(err)
	}
	files := 0
	err := fs.WalkDir(examples.Files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		files++
		want, err := examples.Files.ReadFile(name)
		if err != nil {
			return err
		}
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != string(want) {
			t.Errorf("%s: %d bytes, want %d: %v", name, len(got), len(want), err)
		}
		return nil
	})
	if err != nil || files < 20 {
		t.Fatalf("%d files: %v", files, err)
	}
	changed := filepath.Join(dir, "quickstart", "suite.yaml")
	if err := os.WriteFile(changed, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, ".rehearse"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := demo.Write(dir); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(changed); err != nil || string(got) != "mine" {
		t.Errorf("a changed file became %q: %v", got, err)
	}
}

// TestWriteRefuses holds that a folder with other files is not written into.
func TestWriteRefuses(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := demo.Write(dir); !source.IsInvalid(err) {
		t.Errorf("a folder with other files: %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%d files after a refusal: %v", len(entries), err)
	}
}
