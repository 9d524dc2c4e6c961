package rehearse

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// layers lists the groups of packages from the top. Imports between groups point down.
var layers = []string{
	"cmd", "web", "fleet", "app", "report", "run", "replay", "data", "eval", "agent", "graph", "model", "spec", "base",
}

// arrows lists the groups that a group may import, besides itself. An entry that no import uses fails the test.
var arrows = map[string][]string{
	"cmd":    {"web", "fleet", "app", "report", "run", "replay", "data", "eval", "agent", "model", "spec", "base"},
	"web":    {"fleet", "app", "report", "run", "replay", "data", "eval", "agent", "model", "spec", "base"},
	"fleet":  {"app", "report", "run", "replay", "model", "spec", "base"},
	"app":    {"report", "run", "replay", "data", "eval", "agent", "graph", "model", "spec", "base"},
	"report": {"run", "replay", "data", "eval", "spec", "base"},
	"run":    {"replay", "data", "eval", "agent", "graph", "spec", "base"},
	"replay": {"eval", "agent", "model", "spec", "base"},
	"data":   {"eval", "agent", "graph", "model", "spec", "base"},
	"eval":   {"agent", "model", "spec", "base"},
	"agent":  {"graph", "model", "base"},
	"graph":  {},
	"model":  {"base"},
	"spec":   {"base"},
	"base":   {},
}

// kits are packages for tests only. They may import what they test.
func isKit(pkg string) bool {
	return strings.HasSuffix(pkg, "test") || strings.HasPrefix(pkg, "testkit/")
}

// forbidden are imports that the arrows allow and the design does not.
var forbidden = map[string]struct {
	imports []string
	reason  string
}{
	"model/llm":     {[]string{"spec/suite", "spec/result"}, "engines do not know that they are evaluated"},
	"agent/flow":    {[]string{"spec/suite", "spec/result"}, "engines do not know that they are evaluated"},
	"agent/sitebot": {[]string{"spec/suite", "spec/result"}, "engines do not know that they are evaluated"},
	"eval/grader":   {[]string{"eval/judge", "model/llm"}, "graders call a judge through grader.Judge"},
	"run/orchestrator": {
		[]string{"eval/grader", "eval/target", "eval/judge", "data/dataset", "model/llm"},
		"the orchestrator receives functions",
	},
}

// openers are the functions that open a model, a store or an engine. Only app/wire and their own packages call them:
// limits, secrets and recordings are shared by whatever one place opens.
var openers = map[string][]string{
	"llm": {"Open", "NewEmbedder", "NewLimits"}, "redact": {"New"}, "config": {"Find", "Load"}, "flow": {"New"},
	"sitebot": {"New"}, "store": {"Open", "OpenPostgres", "OpenRedis"}, "langfuse": {"New"}, "knowledge": {"Open"},
}

// wire is the package that opens things, with the packages below it.
const wire = "app/wire"

// maxFiles is the largest number of files in a package, without tests. Packages in larger are to be split; the numbers
// may only fall.
const maxFiles = 35

var larger = map[string]int{
	"agent/flow":     46,
	"agent/sitebot":  36,
	"app/evaluation": 39,
	"cmd/rehearse":   82,
	"eval/grader":    64,
	"eval/target":    53,
	"model/llm":      63,
	"replay":         59,
	"run/store":      57,
	"web/api":        60,
	"web/pages":      45,
}

// maxImports is the largest number of this module's packages that a package outside cmd, web and app imports.
const maxImports = 12

// wider are the packages that import more, with the number, which may only fall.
var wider = map[string]int{
	"agent/sitebot":     14,
	"eval/grader":       13,
	"eval/target":       25,
	"fleet/coordinator": 25,
	"fleet/worker":      14,
	"replay":            14,
	"run/store":         15,
}

const module = "github.com/rehearse-dev/rehearse/"

type goFile struct {
	path    string
	pkg     string   // path below internal, or below the module
	imports []string // of this module, as pkg
	syntax  *ast.File
}

func (f *goFile) group() string { return groupOf(f.pkg) }

func groupOf(pkg string) string {
	group, _, _ := strings.Cut(pkg, "/")
	return group
}

// TestImportsPointDown checks the imports between groups against arrows.
func TestImportsPointDown(t *testing.T) {
	used := map[string]map[string]bool{}
	for _, file := range goFiles(t) {
		from := file.group()
		if isKit(file.pkg) {
			continue
		}
		if _, known := arrows[from]; !known {
			t.Errorf("%s: no layer contains the group %q; add it to layers and to docs/ARCHITECTURE.md",
				file.path, from)
		}
		for _, imported := range file.imports {
			to := groupOf(imported)
			if to == from || isKit(imported) || imported == "examples" { // files that the program embeds
				continue
			}
			if !slices.Contains(arrows[from], to) {
				t.Errorf("%s imports %s: %s may not import %s", file.path, imported, from, to)
			}
			if used[from] == nil {
				used[from] = map[string]bool{}
			}
			used[from][to] = true
		}
		for pkg, rule := range forbidden {
			if file.pkg != pkg && !strings.HasPrefix(file.pkg, pkg+"/") {
				continue
			}
			for _, imported := range file.imports {
				if slices.Contains(rule.imports, imported) {
					t.Errorf("%s imports %s: %s", file.path, imported, rule.reason)
				}
			}
		}
	}
	for from, all := range arrows {
		for _, to := range all {
			if slices.Index(layers, to) <= slices.Index(layers, from) {
				t.Errorf("the arrow from %s to %s does not point down", from, to)
			}
			if !used[from][to] {
				t.Errorf("no package of %s imports %s: remove the arrow", from, to)
			}
		}
	}
}

// TestPackageSizes checks the number of files and of imports per package.
func TestPackageSizes(t *testing.T) {
	files, imports := map[string]int{}, map[string]map[string]bool{}
	for _, file := range goFiles(t) {
		files[file.pkg]++
		if imports[file.pkg] == nil {
			imports[file.pkg] = map[string]bool{}
		}
		for _, imported := range file.imports {
			imports[file.pkg][imported] = true
		}
	}
	for _, pkg := range slices.Sorted(maps.Keys(files)) {
		checkLimit(t, pkg, "files", files[pkg], maxFiles, larger)
		if group := groupOf(pkg); group != "cmd" && group != "web" && group != "app" && !isKit(pkg) {
			checkLimit(t, pkg, "imports of this module", len(imports[pkg]), maxImports, wider)
		}
	}
}

// checkLimit compares a number with a limit, or with the exception of its package, which must be exact: it may only
// fall.
func checkLimit(t *testing.T, pkg, what string, n, limit int, exceptions map[string]int) {
	t.Helper()
	exception, excepted := exceptions[pkg]
	switch {
	case !excepted && n > limit:
		t.Errorf("%s has %d %s, more than %d", pkg, n, what, limit)
	case excepted && n > exception:
		t.Errorf("%s has %d %s, more than the %d of its exception", pkg, n, what, exception)
	case excepted && n < exception:
		t.Errorf("%s has only %d %s: lower its exception from %d, or remove it", pkg, n, what, exception)
	}
}

// drivers are the modules that the packages below graph may import; other modules than the standard library are
// refused.
var drivers = map[string][]string{
	"graph":                nil,
	"graph/graphtest":      nil,
	"graph/saver/sqlite":   {"modernc.org/sqlite"},
	"graph/saver/redis":    {"github.com/redis/go-redis"},
	"graph/saver/postgres": {"github.com/jackc/pgx/v5"},
}

// TestGraphDependencies checks that graph imports the standard library only, and a saver its driver too: a program that
// imports a library takes over the library's modules.
func TestGraphDependencies(t *testing.T) {
	for _, file := range goFiles(t) {
		if file.group() != "graph" {
			continue
		}
		allowed, known := drivers[file.pkg]
		if !known {
			t.Errorf("%s: drivers has no entry for %s", file.path, file.pkg)
		}
		for _, spec := range file.syntax.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(imported, module+"internal/") {
				t.Errorf("%s imports %s, which other modules cannot import", file.path, imported)
			}
			first, _, _ := strings.Cut(imported, "/")
			foreign := strings.Contains(first, ".") && !strings.HasPrefix(imported, module)
			isDriver := func(driver string) bool { return strings.HasPrefix(imported, driver) }
			if foreign && !slices.ContainsFunc(allowed, isDriver) {
				t.Errorf("%s imports %s: graph imports the standard library, a saver also its driver",
					file.path, imported)
			}
		}
	}
}

// TestOnlyWireOpens checks that no package but app/wire calls openers of another package.
func TestOnlyWireOpens(t *testing.T) {
	for _, file := range goFiles(t) {
		if file.pkg == wire || strings.HasPrefix(file.pkg, wire+"/") {
			continue
		}
		ast.Inspect(file.syntax, func(n ast.Node) bool {
			call, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			pkg, ok := call.X.(*ast.Ident)
			own := filepath.Base(file.pkg)
			if ok && pkg.Obj == nil && own != pkg.Name && slices.Contains(openers[pkg.Name], call.Sel.Name) {
				t.Errorf("%s calls %s.%s: only %s opens things", file.path, pkg.Name, call.Sel.Name, wire)
			}
			return true
		})
	}
}

// httpClients are the names of net/http with which a client is made, or one that follows redirects is used.
var httpClients = []string{
	"Client", "Transport", "DefaultClient", "DefaultTransport", "Get", "Head", "Post", "PostForm",
}

// TestOnlyHTTPClientMakesClients checks that no package but base/httpclient makes an HTTP client. Others may have a
// *http.Client.
func TestOnlyHTTPClientMakesClients(t *testing.T) {
	for _, file := range goFiles(t) {
		if file.pkg == "base/httpclient" || isKit(file.pkg) {
			continue
		}
		pointers := map[ast.Node]bool{}
		ast.Inspect(file.syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.StarExpr:
				pointers[n.X] = true
			case *ast.SelectorExpr:
				pkg, ok := n.X.(*ast.Ident)
				if ok && pkg.Obj == nil && pkg.Name == "http" && !pointers[n] &&
					slices.Contains(httpClients, n.Sel.Name) {
					t.Errorf("%s uses http.%s: get a client from base/httpclient", file.path, n.Sel.Name)
				}
			}
			return true
		})
	}
}

// goFiles returns the non-test Go files below cmd, graph and internal.
func goFiles(t *testing.T) (files []goFile) {
	t.Helper()
	for _, root := range []string{"cmd", "graph", "internal"} {
		err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
				return err
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			if err != nil {
				return err
			}
			file := goFile{path: name, pkg: packageOf(filepath.ToSlash(filepath.Dir(name))), syntax: parsed}
			for _, spec := range parsed.Imports {
				imported, err := strconv.Unquote(spec.Path.Value)
				if err != nil {
					return err
				}
				if local, ok := strings.CutPrefix(imported, module); ok {
					file.imports = append(file.imports, packageOf(local))
				}
			}
			files = append(files, file)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}

func packageOf(dir string) string { return strings.TrimPrefix(dir, "internal/") }

// sharedFiles are the files of cmd/rehearse that no command owns.
var sharedFiles = []string{
	"main.go", "env.go", "env_file.go", "exit.go", "flags.go", "progress.go", "completion.go", "on_server.go",
	"on_server_progress.go",
}

// TestCommandFiles checks that each file of cmd/rehearse declares a command, or is named after the file of its command.
func TestCommandFiles(t *testing.T) {
	commands, others := map[string]bool{}, []string{}
	for _, file := range goFiles(t) {
		if file.pkg != "cmd/rehearse" {
			continue
		}
		if name := filepath.Base(file.path); declaresCommand(file.syntax) {
			commands[name] = true
		} else {
			others = append(others, name)
		}
	}
	for _, name := range others {
		of, _, _ := strings.Cut(strings.TrimSuffix(name, ".go"), "_")
		if !commands[of+".go"] && !slices.Contains(sharedFiles, name) {
			t.Errorf("%s declares no command, and is neither named after one nor in sharedFiles", name)
		}
	}
	for _, name := range sharedFiles {
		if !slices.Contains(others, name) {
			t.Errorf("sharedFiles names %s, which declares a command or does not exist", name)
		}
	}
}

// declaresCommand reports whether a file has a cobra.Command in it.
func declaresCommand(file *ast.File) (found bool) {
	ast.Inspect(file, func(n ast.Node) bool {
		literal, ok := n.(*ast.CompositeLit)
		if !ok {
			return !found
		}
		name, ok := literal.Type.(*ast.SelectorExpr)
		found = found || ok && name.Sel.Name == "Command"
		return !found
	})
	return found
}

// TestDependencies checks that each direct dependency has its line in the decision on dependencies.
func TestDependencies(t *testing.T) {
	decision, err := os.ReadFile("docs/decisions/0001-dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	requirements, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	direct := regexp.MustCompile(`(?m)^\t(\S+?)(?:/v\d+)? v\S+$`).FindAllStringSubmatch(string(requirements), -1)
	if len(direct) < 10 {
		t.Fatalf("%d direct dependencies in go.mod", len(direct))
	}
	for _, found := range direct {
		if name := strings.TrimPrefix(found[1], "github.com/"); !strings.Contains(string(decision), name) {
			t.Errorf("docs/decisions/0001-dependencies.md has no line for %s", name)
		}
	}
}
