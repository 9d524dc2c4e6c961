package rehearse

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// floors lists the packages from the ground up. A package imports from lower floors, or from those to its left on its own floor.
var floors = [][]string{
	{"source", "marker", "chat", "suite", "result", "runspec"},
	{"stats", "text", "retry", "redact", "draw", "config"},
	{"llm", "flow", "knowledge", "graph", "langfuse", "sitebot"},
	{"runner", "grader", "judge", "target", "dataset", "replay", "mine"},
	{"orchestrator", "queue", "runlog", "store", "report/terminal", "report/page", "report/lanes", "report"},
	{"setup"},
	{"evaluation"},
	{"server"},
	{"cmd/rehearse"},
}

// forbidden are imports that the floors would allow but the design does not.
var forbidden = map[string]struct {
	imports []string
	why     string
}{
	"llm":          {[]string{"suite", "result"}, "engines do not know that they are evaluated"},
	"flow":         {[]string{"suite", "result"}, "engines do not know that they are evaluated"},
	"graph":        {[]string{"suite", "result", "llm"}, "engines do not know that they are evaluated, nor a runtime what its nodes do"},
	"sitebot":      {[]string{"suite", "result"}, "engines do not know that they are evaluated"},
	"grader":       {[]string{"judge", "llm"}, "graders ask through grader.Judge"},
	"orchestrator": {[]string{"grader", "target", "judge", "llm"}, "the orchestrator gets functions from cmd/rehearse"},
	"config":       {[]string{"suite"}, "configuration does not know what is tested"},
}

const module = "rehearse/"

// TestImportsGoDown fails for every file whose imports break the floors, and for every package that no floor names.
func TestImportsGoDown(t *testing.T) {
	type place struct{ floor, column int }
	places := map[string]place{}
	for floor, row := range floors {
		for column, name := range row {
			places[name] = place{floor, column}
		}
	}
	seen := map[string]bool{}
	for file, imports := range goFiles(t) {
		pkg := roomOf(filepath.ToSlash(filepath.Dir(file)), places)
		at, known := places[pkg]
		if !known {
			t.Errorf("%s: package %q is on no floor; add it to floors and to docs/ARCHITECTURE.md", file, pkg)
			continue
		}
		seen[pkg] = true
		for _, path := range imports {
			imported := roomOf(strings.TrimPrefix(path, module), places)
			to, known := places[imported]
			switch {
			case !known:
				t.Errorf("%s imports %s, which is on no floor", file, path)
			case imported == pkg:
			case to.floor > at.floor || to.floor == at.floor && to.column > at.column:
				t.Errorf("%s imports %s: imports go down, or left on the same floor", file, path)
			case slices.Contains(forbidden[pkg].imports, imported):
				t.Errorf("%s imports %s: %s", file, path, forbidden[pkg].why)
			}
		}
	}
	for name := range places {
		if !seen[name] {
			t.Errorf("floors name %q, where there is no code", name)
		}
	}
}

// roomOf names the room of a package by its folder below internal. A package inside a room, such as a test kit, belongs to that room
// unless the floors name it.
func roomOf[P any](dir string, places map[string]P) string {
	name, internal := strings.CutPrefix(dir, "internal/")
	for internal {
		at := strings.LastIndexByte(name, '/')
		if _, named := places[name]; named || at < 0 {
			break
		}
		name = name[:at]
	}
	return name
}

// goFiles returns the non-test Go files below cmd and internal with what they import of this module.
func goFiles(t *testing.T) map[string][]string {
	t.Helper()
	files := map[string][]string{}
	for _, root := range []string{"cmd", "internal"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
			if err != nil {
				return err
			}
			files[path] = []string{}
			for _, spec := range parsed.Imports {
				name, err := strconv.Unquote(spec.Path.Value)
				if err != nil {
					return err
				}
				if strings.HasPrefix(name, module) {
					files[path] = append(files[path], name)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}
