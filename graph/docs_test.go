package graph_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The table beside LangGraph names only what the package exports.
func TestTableBesideLangGraph(t *testing.T) {
	exported := map[string]bool{}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && id.IsExported() {
				exported[id.Name] = true
			}
			return true
		})
	}
	page, err := os.ReadFile("../docs/graph.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| LangGraph | here |")
	code, name := regexp.MustCompile("`[^`]+`"), regexp.MustCompile(`\b[A-Z]\w+`)
	rows := strings.Split(strings.TrimSpace(table), "\n")
	if len(rows) < 10 {
		t.Fatal("the table is missing")
	}
	for _, row := range rows {
		for _, span := range code.FindAllString(strings.Split(row, "|")[2], -1) {
			for _, id := range name.FindAllString(span, -1) {
				if !exported[id] {
					t.Errorf("%q does not exist", id)
				}
			}
		}
	}
}
