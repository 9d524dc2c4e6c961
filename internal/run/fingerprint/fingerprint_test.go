package fingerprint_test

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/run/fingerprint"
)

// masker knows one secret.
type masker string

func (m masker) Bytes(data []byte) []byte {
	return bytes.ReplaceAll(data, []byte(m), []byte("[redacted]"))
}

// laid returns a new folder with files.
func laid(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestDefinition: what decides counts, at any depth; where it stands and with which key it is asked do not.
func TestDefinition(t *testing.T) {
	files := map[string]string{
		"flows/a.yaml": "other: b.yaml", "flows/b.yaml": "says: hello", "know/one.md": "opening hours",
		"know/deep/two.md": "prices", "know/.hidden": "x", "know/cache.db": "x", "know/run.log": "x",
		"agent.py": "print(1)", "unnamed.md": "x",
	}
	sum := func(files map[string]string, key, model string, absolute bool) string {
		t.Helper()
		dir := laid(t, files)
		name := func(file string) string {
			if absolute {
				return filepath.Join(dir, file)
			}
			return file
		}
		definition := map[string]any{
			"flow": "flow:" + name("flows/a.yaml") + "#main", "knowledge": name("know/"),
			"command": "python3 ./agent.py", "key": key, "model": model,
		}
		got, err := fingerprint.New(source.Files{}).Definition(masker(key), definition, dir)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	with := func(name, text string) map[string]string {
		changed := maps.Clone(files)
		changed[name] = text
		return changed
	}
	want := sum(files, "key-1", "m", false)
	for what, got := range map[string]string{
		"another folder": sum(files, "key-1", "m", false),
		"whole paths":    sum(files, "key-1", "m", true), "another key": sum(files, "key-2", "m", false),
		"a file that nothing names": sum(with("unnamed.md", "y"), "key-1", "m", false),
		"a hidden file":             sum(with("know/.hidden", "y"), "key-1", "m", false),
		"a database":                sum(with("know/cache.db", "y"), "key-1", "m", false),
		"a log":                     sum(with("know/run.log", "y"), "key-1", "m", false),
	} {
		if got != want {
			t.Errorf("%s gives another fingerprint", what)
		}
	}
	for what, got := range map[string]string{
		"another model":            sum(files, "key-1", "other", false),
		"a named file":             sum(with("flows/a.yaml", "other: b.yaml\n"), "key-1", "m", false),
		"a file that a file names": sum(with("flows/b.yaml", "says: bye"), "key-1", "m", false),
		"a file of a folder":       sum(with("know/deep/two.md", "none"), "key-1", "m", false),
		"a new file in a folder":   sum(with("know/three.md", "y"), "key-1", "m", false),
		"a program":                sum(with("agent.py", "print(2)"), "key-1", "m", false),
	} {
		if got == want {
			t.Errorf("%s gives the same fingerprint", what)
		}
	}
}

// TestNamed leaves words alone, and finds each file once.
func TestNamed(t *testing.T) {
	dir := laid(t, map[string]string{"a.md": "x", "gpt-5": "a file with the name of a model"})
	found := fingerprint.New(source.Files{}).Named([]any{
		"a.md", "./a.md", "gpt-5", ".", "/", "file://a.md", "none.md", "two\nlines.md",
	}, dir)
	if len(found) != 1 || found[0].Name != "a.md" {
		t.Errorf("found %+v", found)
	}
}
