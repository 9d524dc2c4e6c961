package source_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// bounded returns the files of a folder beside which there is a secret, to which links lead.
func bounded(t *testing.T) source.Files {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"secret": "hush", "in/a.yaml": "a", "in/sub/b.yaml": "b"} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755),
			os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{
		"in/out": "../secret", "in/up": "..", "in/abs": filepath.Join(dir, "secret"),
	} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(filepath.Join(dir, "in"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return source.Within(root)
}

func TestWithin(t *testing.T) {
	f := bounded(t)
	if data, err := f.ReadFile("sub/../sub/b.yaml"); err != nil || string(data) != "b" {
		t.Errorf("%q, %v", data, err)
	}
	for _, name := range []string{
		"../secret", "sub/../../secret", "out", "abs", "up/secret", "/etc/passwd", f.OnDisk("a.yaml"), "",
	} {
		if data, err := f.ReadFile(name); err == nil {
			t.Errorf("%q is read: %q", name, data)
		}
		if name != "" && name != "up/secret" {
			if _, err := f.ReadFile(name); !errors.Is(err, source.ErrOutside) {
				t.Errorf("%q: %v", name, err)
			}
		}
		if file, err := f.Open(name); err == nil && name != "" {
			_ = file.Close()
			t.Errorf("%q is opened", name)
		}
	}
	var names []string
	err := f.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			names = append(names, path)
		}
		return err
	})
	if want := []string{"a.yaml", "sub/b.yaml"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("%q, %v", names, err)
	}
	if found, err := f.Glob("*/*.yaml"); err != nil || !slices.Contains(found, "sub/b.yaml") {
		t.Errorf("%q, %v", found, err)
	}
	if _, err := f.Glob("../*"); !errors.Is(err, source.ErrOutside) {
		t.Errorf("%v", err)
	}
	if entries, err := f.ReadDir("sub"); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}

// The zero value reads the disk.
func TestDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	var f source.Files
	if data, err := f.ReadFile(path); err != nil || string(data) != "x" || f.OnDisk(path) != path || f.Bounded() {
		t.Errorf("%q, %v", data, err)
	}
}
