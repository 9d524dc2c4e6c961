package site_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/site"
	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// folder writes files into a folder of their own.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestOpenLibrary(t *testing.T) {
	dir := folder(t, map[string]string{
		"a.yaml": "site: acme.example\naliases: [www.acme.example]", "b.json": `{"site": "b"}`, "c.yml": "site: c",
		"rehearse.yaml": "target: bot", "README.md": "read", ".hidden.yaml": "site: hidden", "suite.yaml": "tests: []",
	})
	l, err := site.OpenLibrary(source.Files{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"acme.example": "acme.example", "ACME.Example": "acme.example", " www.acme.example. ": "acme.example", "b": "b",
		"c": "c", "hidden": "", "": "", "acme": "",
	} {
		s, err := l.Find(name)
		switch {
		case want == "" && !errors.Is(err, site.ErrUnknown):
			t.Errorf("Find(%q) = %v, %v", name, s, err)
		case want != "" && (err != nil || s.Name != want):
			t.Errorf("Find(%q) = %v, %v", name, s, err)
		}
	}
	if _, err := l.Find("acm.example"); strings.Contains(err.Error(), "acme") {
		t.Errorf("a visitor learns of another site: %v", err)
	}
	if got := len(l.Sites()); got != 3 || len(l.Warnings()) != 0 {
		t.Errorf("%d sites, warnings %v", got, l.Warnings())
	}
	one, err := site.OpenLibrary(source.Files{}, filepath.Join(dir, "c.yml"))
	if err != nil || len(one.Sites()) != 1 {
		t.Errorf("a library of one file: %v, %v", one, err)
	}
}

func TestOpenLibraryProblems(t *testing.T) {
	for _, tc := range []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{"none", map[string]string{"a.txt": ""}, []string{
			"there is no site in ", "put a file there that begins with `site: NAME`",
		}},
		{
			"name twice",
			map[string]string{"a.yaml": "site: x", "b.yaml": "language: en\nsite: X"},
			[]string{`b.yaml:2:7: site: "x" is a name of the site in `, "a.yaml too (give each site names"},
		},
		{
			"alias of another",
			map[string]string{"a.yaml": "site: x", "b.yaml": "site: y\naliases: [z, X]"},
			[]string{`b.yaml:2:14: aliases[1]: "x" is a name of the site in `},
		},
		{
			"several faults",
			map[string]string{"a.yaml": "site: 'a b'", "b.yaml": "sit: y\ncta: {}"},
			[]string{
				`a.yaml:1:7`, `b.yaml:1:1: sit: unknown key "sit" (did you mean "site"?)`,
				"b.yaml:1:1: a site needs a name",
			},
		},
	} {
		_, err := site.OpenLibrary(source.Files{}, folder(t, tc.files))
		for _, want := range tc.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s:\n got %v\nwant %s", tc.name, err, want)
			}
		}
	}
	if _, err := site.OpenLibrary(source.Files{}, filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
}
