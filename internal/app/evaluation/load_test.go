package evaluation_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/app/evaluation"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// TestSameName: suites of one name are told apart by the same names, wherever the folder that they have in common is,
// and however it is named.
func TestSameName(t *testing.T) {
	dir := t.TempDir()
	for _, file := range []string{
		"evals/a.suite.yaml", "evals/b/a.suite.yaml", "evals/c/b/a.suite.yaml", "evals/other.suite.yaml",
	} {
		path := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		name := "shop"
		if filepath.Base(file) == "other.suite.yaml" {
			name = "other"
		}
		if err := os.WriteFile(path, []byte("name: "+name+"\ntests: [{id: x, input: x}]\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	names := func(files source.Files, arg string) (names []string) {
		t.Helper()
		loaded, problems, err := evaluation.Load([]string{arg}, suite.Options{Files: files})
		if err != nil || len(problems) > 0 {
			t.Fatal(err, problems)
		}
		for _, s := range loaded {
			names = append(names, s.Name)
		}
		return names
	}
	within := func(dir string) source.Files {
		root, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = root.Close() })
		return source.Within(root)
	}
	want := []string{"shop", "b/a.suite.yaml", "c/b/a.suite.yaml", "other"}
	for what, got := range map[string][]string{
		"by its whole name": names(source.Files{}, filepath.Join(dir, "evals")),
		"in a bundle":       names(within(filepath.Join(dir, "evals")), "."),
		"below a bundle":    names(within(dir), "evals"),
	} {
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
}
