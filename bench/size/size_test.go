package main

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// tree is a small repository: today's flat packages next to group folders.
var tree = map[string]string{
	"go.mod": "module example.com/m\n\ngo 1.26\n",
	"doc.go": "// Package m is the root.\npackage m\n",
	"cmd/m/main.go": "package main\n\nimport (\n\t\"example.com/m/internal/run/store\"\n" +
		"\t\"example.com/m/internal/base/text\"\n)\n\nfunc main() { store.F(text.T) }\n",
	"internal/base/text/text.go": "// Package text is one.\npackage text\n\n/* a */\nconst T = \"x; y\" // one token\n",
	"internal/base/text/long.go": "package text\n\nvar _ = \"" + strings.Repeat("x", 120) + "\"\n",
	"internal/base/text/tabs.go": "package text\n\nfunc f() {\n" + // 120 and 121 columns
		"\t_ = `" + strings.Repeat("é", 110) + "`\n\t_ = `" + strings.Repeat("é", 111) + "`\n}\n",
	"internal/base/text/text_test.go":    "package text\n\nvar x = 1\n",
	"internal/base/text/texttest/kit.go": "package texttest\n",
	"internal/base/text/testdata/p/p.go": "package p\n",
	"internal/run/store/store.go": "package store\n\nimport \"example.com/m/internal/base/text\"\n\n" +
		"func F(string) { a(); b(text.T) }\n",
	"internal/run/store/gen.go":            "// Code generated x DO NOT EDIT.\n\npackage store\n\nvar generated = 1\n",
	"internal/run/store/fake.go":           "package store\n\n// Code generated x DO NOT EDIT.\nvar notGenerated = 1\n",
	"internal/base/collect/collect.go":     "package collect\n",
	"internal/replay/importer/importer.go": "package importer\n",
	"internal/novelty/novelty.go":          "package novelty\n",
	"internal/web/pages/pages.go": "package pages\n\n" +
		"//go:embed page.html.tmpl style.css data all:more\nvar files embed.FS\n",
	"internal/web/pages/page.html.tmpl":       "12345",
	"internal/web/pages/style.css":            "1234",
	"internal/web/pages/unused.js":            "123",
	"internal/web/pages/data/a.json":          "12",
	"internal/web/pages/data/.hidden":         "never embedded",
	"internal/web/pages/more/.hidden":         "1",
	"internal/web/pages/testdata/golden.html": "golden",
	"bench/bench.go":                          "package main\n",
	"e2e/node_modules/p/p.go":                 "package p\n",
	".hidden/h.go":                            "package h\n",
}

func TestMeasure(t *testing.T) {
	root := t.TempDir()
	for name, content := range tree {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := measure(root)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][3]int{}
	for row, c := range s.rows {
		got[row] = [3]int{c.tokens, c.files, len(c.packages)}
	}
	want := map[string][3]int{ // tokens, files, packages
		"cmd":  {2 + 5 + 14, 1, 1},                 // package, imports, func main
		"base": {2 + 4 + 2 + 4 + 2 + 12 + 2, 4, 2}, // text and artifact/collect
		"run":  {2 + 2 + 17 + 2 + 4, 2, 1},         // the explicit semicolon counts, those at the ends of lines do not
		"data": {2, 1, 1}, "web": {2 + 5, 1, 1},
		rest: {4, 2, 2}, kits: {4, 2, 2}, tests: {6, 1, 1}, generated: {6, 1, 1}, toolRow: {2, 1, 1},
	}
	for row := range maps.Keys(want) {
		if got[row] != want[row] {
			t.Errorf("row %s is %v, want %v", row, got[row], want[row])
		}
	}
	if len(got) != len(want) {
		t.Errorf("rows are %v", slices.Sorted(maps.Keys(got)))
	}
	if want := map[string]int{"HTML": 5, "CSS": 4, "JS": 3, embedded: 3}; !maps.Equal(s.bytes, want) {
		t.Errorf("bytes are %v, want %v", s.bytes, want)
	}
	if product := s.product(); product.files != 11 || len(product.packages) != 8 || product.largest() != 3 {
		t.Errorf("the product has %d files, %d packages, at most %d files in one; want 11, 8, 3",
			product.files, len(product.packages), product.largest())
	}
	if s.long != 2 {
		t.Errorf("%d lines are too long, want 2", s.long)
	}
	if len(s.arrows) != 3 || len(s.groupArrows) != 3 {
		t.Errorf("imports between packages %v, between groups %v", s.arrows, s.groupArrows)
	}
	if !slices.Equal(slices.Collect(maps.Keys(s.unlisted)), []string{"internal/novelty"}) {
		t.Errorf("packages without a group: %v", s.unlisted)
	}
	// cmd has 6 lines up to the closing parenthesis, store 3, and each of the other 9 files its package clause.
	if s.headers != 6+3+9 {
		t.Errorf("headers have %d lines, want 18", s.headers)
	}
	var out bytes.Buffer
	print(&out, s, s)
	row := "| run              | 27     | 2     | 1        | 27             | 1.000 |"
	if !strings.Contains(out.String(), row) {
		t.Errorf("the table is\n%s\nwithout the row %s", out.String(), row)
	}
}

// TestGroups checks packages in the folder of a group, and those of earlier commits, which had no groups.
func TestGroups(t *testing.T) {
	for dir, want := range map[string]string{
		"internal/text":               "base",
		"internal/artifact":           "run",
		"internal/artifact/collect":   "base",
		"internal/base/collect":       "base",
		"internal/replay":             "replay",
		"internal/replay/importer":    "data",
		"internal/mcp":                "model",
		"internal/mcp/commands":       "web",
		"internal/sitebot/lead":       "agent",
		"internal/agent/sitebot/lead": "agent",
		"internal/run/artifact":       "run",
		"internal/web/api":            "web",
		"internal/textual":            rest,
		"cmd/rehearse":                "cmd",
		"graph/saver/sqlite":          "graph",
		".":                           rest,
		"examples":                    rest,
		"internal/rest":               rest,
	} {
		if got := groupOf(dir); got != want {
			t.Errorf("%s is in group %s, want %s", dir, got, want)
		}
	}
}

// TestEveryPackageHasAGroup keeps the table of groups complete.
func TestEveryPackageHasAGroup(t *testing.T) {
	s, err := measure(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	if len(s.unlisted) > 0 {
		t.Errorf("groups.go lists no group for %v", slices.Sorted(maps.Keys(s.unlisted)))
	}
}
