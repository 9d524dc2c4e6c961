package rehearse

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// floors lists the rooms from the ground up; a room inside another is a room of its own. A room imports from lower floors, or from those to
// its left on its own floor.
var floors = [][]string{
	{"examples", "race", "golden", "stats", "source", "marker", "quarantine", "chat", "suite", "result", "runspec", "runspec/bundle"},
	{"text", "shell", "curl", "retry", "outbound/outboundtest", "outbound", "inbox", "process", "redact", "commandline", "draw", "template", "jsonpath", "stream", "trace", "telemetry/telemetrytest", "telemetry", "metrics", "tool", "answer", "schedule", "config", "artifact/collect"},
	{
		"llm/llmtest", "llm", "a2a", "mcp", "mcp/commands", "flow", "callout", "knowledge", "graph", "graph/graphtest", "graph/saver/sqlite", "graph/saver/redis", "graph/saver/postgres", "langfuse", "langfuse/langfusetest", "langfuse/experiment",
		"sitebot/site", "sitebot/value", "sitebot/siteconfig", "sitebot/prompt", "sitebot/enrich", "sitebot/lead", "sitebot/lead/leadtest", "sitebot/register", "sitebot/register/registertest", "sitebot/limit", "sitebot/limit/limittest", "sitebot/retrieve", "sitebot", "sitebot/sitebottest", "sitebot/verify",
	},
	{
		"dataset", "runner", "user", "grader", "calibrate", "judge", "target/targettest", "target", "importer", "dataset/importer", "dataset/conversation", "replay", "journal", "replay/importer", "mine", "talk",
	},
	{
		"orchestrator", "fleet", "fleet/fleettest", "artifact", "queue", "queue/queuetest", "runlog", "fingerprint", "annotation", "archive", "cover", "compare", "store/servertest", "store", "store/storetest", "access",
		"report/terminal", "report/page", "report/prose", "report/transcript", "report/lanes", "report/classification", "report", "report/reporttest", "ci",
	},
	{"setup"},
	{"demo", "evaluation", "replayrun", "classify", "probe", "worker", "service", "client", "remote"},
	{"server", "server/servertest", "view/frame", "view", "view/viewtest"},
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
	"orchestrator": {[]string{"grader", "target", "judge", "dataset", "llm"}, "the orchestrator is given functions"},
	"config":       {[]string{"suite"}, "configuration does not know what is tested"},
}

// openers are the functions that open something. Only the room setup calls them, and the rooms that they belong to: what is opened in one
// place shares limits, secrets and recordings.
var openers = map[string][]string{
	"llm": {"Open", "NewEmbedder", "NewLimits"}, "redact": {"New"}, "config": {"Find", "Load"}, "flow": {"New"}, "sitebot": {"New"},
	"store": {"Open", "OpenPostgres", "OpenRedis"}, "langfuse": {"New"}, "knowledge": {"Open"},
}

const module = "github.com/rehearse-dev/rehearse/"

type goFile struct {
	path, room string
	imports    []string
	syntax     *ast.File
}

// TestImportsGoDown fails for every file whose imports break the floors, and for every room that no floor names.
func TestImportsGoDown(t *testing.T) {
	type place struct{ floor, column int }
	places := map[string]place{}
	for floor, row := range floors {
		for column, name := range row {
			places[name] = place{floor, column}
		}
	}
	seen := map[string]bool{}
	for _, file := range goFiles(t) {
		at, known := places[file.room]
		if !known {
			t.Errorf("%s: room %q is on no floor; add it to floors and to docs/ARCHITECTURE.md", file.path, file.room)
			continue
		}
		seen[file.room] = true
		for _, imported := range file.imports {
			to, known := places[imported]
			switch {
			case !known:
				t.Errorf("%s imports %s, which is on no floor", file.path, imported)
			case to.floor > at.floor || to.floor == at.floor && to.column > at.column:
				t.Errorf("%s imports %s: imports go down, or left on the same floor", file.path, imported)
			case slices.Contains(forbidden[outermost(file.room)].imports, imported):
				t.Errorf("%s imports %s: %s", file.path, imported, forbidden[outermost(file.room)].why)
			}
		}
	}
	for name := range places {
		if !seen[name] {
			t.Errorf("floors name %q, where there is no code", name)
		}
	}
}

// drivers are the modules that rooms of the public package graph may import; the others import the standard library and this module only.
var drivers = map[string][]string{
	"graph": nil, "graph/graphtest": nil,
	"graph/saver/sqlite":   {"modernc.org/sqlite"},
	"graph/saver/redis":    {"github.com/gomodule/redigo"},
	"graph/saver/postgres": {"github.com/jackc/pgx/v5"},
}

// TestGraphStandsAlone fails for every file of graph that imports another module, because whoever imports a library takes its modules too.
func TestGraphStandsAlone(t *testing.T) {
	for _, file := range goFiles(t) {
		if outermost(file.room) != "graph" {
			continue
		}
		allowed, known := drivers[file.room]
		if !known {
			t.Errorf("%s: drivers does not say which modules room %q may import", file.path, file.room)
		}
		for _, spec := range file.syntax.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			first, _, _ := strings.Cut(imported, "/")
			foreign := strings.Contains(first, ".") && !strings.HasPrefix(imported, module)
			if foreign && !slices.ContainsFunc(allowed, func(driver string) bool { return strings.HasPrefix(imported, driver) }) {
				t.Errorf("%s imports %s: graph imports the standard library and this module, a saver also its driver", file.path, imported)
			}
		}
	}
}

// outermost returns the room that a room stands in, whose forbidden imports it shares.
func outermost(room string) string {
	outer, _, _ := strings.Cut(room, "/")
	return outer
}

// TestOneOpener fails for every file outside setup that opens something itself.
func TestOneOpener(t *testing.T) {
	for _, file := range goFiles(t) {
		if file.room == "setup" {
			continue
		}
		ast.Inspect(file.syntax, func(n ast.Node) bool {
			call, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			room, ok := call.X.(*ast.Ident)
			if ok && room.Obj == nil && file.room != room.Name && slices.Contains(openers[room.Name], call.Sel.Name) {
				t.Errorf("%s calls %s.%s: only the room setup opens things", file.path, room.Name, call.Sel.Name)
			}
			return true
		})
	}
}

// clientMakers are the names of net/http with which a client is made, or taken that follows redirects.
var clientMakers = []string{"Client", "Transport", "DefaultClient", "DefaultTransport", "Get", "Head", "Post", "PostForm"}

// TestOneMakerOfClients fails for every file outside outbound that makes an HTTP client, or uses net/http's own. A *http.Client may be held.
func TestOneMakerOfClients(t *testing.T) {
	for _, file := range goFiles(t) {
		if file.room == "outbound" || file.room == "langfuse/langfusetest" {
			continue
		}
		held := map[ast.Node]bool{}
		ast.Inspect(file.syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.StarExpr:
				held[n.X] = true
			case *ast.SelectorExpr:
				room, ok := n.X.(*ast.Ident)
				if ok && room.Obj == nil && room.Name == "http" && !held[n] && slices.Contains(clientMakers, n.Sel.Name) {
					t.Errorf("%s uses http.%s: outbound makes the clients, and setup hands them out", file.path, n.Sel.Name)
				}
			}
			return true
		})
	}
}

// goFiles returns the non-test Go files below cmd, graph and internal with what they import of this module, as rooms.
func goFiles(t *testing.T) (files []goFile) {
	t.Helper()
	for _, root := range []string{"cmd", "examples", "graph", "internal"} {
		err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
				return err
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			if err != nil {
				return err
			}
			file := goFile{path: name, room: roomOf(filepath.ToSlash(filepath.Dir(name))), syntax: parsed}
			for _, spec := range parsed.Imports {
				imported, err := strconv.Unquote(spec.Path.Value)
				if err != nil {
					return err
				}
				if local, ok := strings.CutPrefix(imported, module); ok {
					file.imports = append(file.imports, roomOf(local))
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

// roomOf names a room by its folder below internal.
func roomOf(dir string) string { return strings.TrimPrefix(dir, "internal/") }

// withoutCommand are the files of the door that all commands share.
var withoutCommand = []string{"main.go", "env.go", "env_file.go", "exit.go", "flags.go", "progress.go", "completion.go", "on_server.go", "on_server_progress.go"}

// behindTheDoor are the rooms that cmd/rehearse may import, with the reason unless they open, hold, tell or carry a run.
var behindTheDoor = map[string]string{
	"setup": "", "evaluation": "", "service": "", "report": "", "result": "", "runspec": "", "source": "",
	"commandline":          "run, grade, classify: the command that a record keeps",
	"shell":                "commands that are printed",
	"cover":                "flow cover: what was reached",
	"ci":                   "run, grade, classify, replay run: --ci",
	"client":               "run --server, runs: a server's API",
	"remote":               "run, e2e, classify, replay run: --server",
	"access":               "mock, serve: the token of the environment; token",
	"archive":              "view: the runs that are named",
	"calibrate":            "judge calibrate: labels, asks and the report",
	"classify":             "classify: the request and its evaluation",
	"compare":              "compare, run: two runs, and what decides an exit code",
	"config":               "the defaults of thresholds in flags, the hosts of serve, and the name of the configuration file",
	"dataset":              "dataset: places and names",
	"dataset/conversation": "dataset add: an item of a conversation",
	"dataset/importer":     "dataset import: files of other tools",
	"demo":                 "demo: its files and commands",
	"draw":                 "flow draw, chat graph: a picture",
	"flow":                 "flow: flows are checked and talked to; kb search: a query; schema: flows",
	"grader":               "graders: the reference; dataset seed: assertions are checked",
	"importer":             "import: files of other tools",
	"knowledge":            "kb: what was added and is kept",
	"llm":                  "mock: its script",
	"marker":               "chat: signals are left out of what is shown",
	"mcp":                  "mock --mcp: a server of tools",
	"mcp/commands":         "mcp",
	"mine":                 "flow mine",
	"orchestrator":         "progress: how far a run is",
	"probe":                "init: an agent is asked, and files are written",
	"replay":               "replay: variants, days and logs",
	"replayrun":            "replay run, replay watch, serve: its watches",
	"replay/importer":      "replay import: what became of the rows",
	"report/lanes":         "replay run: its report",
	"schedule":             "schedule add: the expression is checked before the files are sent",
	"runlog":               "resume, show: the record of a run; files are written whole",
	"server":               "mock, serve",
	"sitebot":              "chat: a turn of the chatbot",
	"sitebot/site":         "schema: sites",
	"sitebot/lead":         "leads: which are wanted, and rows as they are printed",
	"sitebot/register":     "sessions: which are wanted, and rows as they are printed",
	"sitebot/verify":       "e2e verify",
	"suite":                "schema, validate: suites",
	"chat":                 "chat: what a chatbot said",
	"talk":                 "chat: conversations by hand",
	"target":               "flow chat: settings of a flow's target",
	"text":                 "text from outside is made harmless for terminals",
	"tool":                 "mock --mcp: its tools",
	"view":                 "view",
	"view/frame":           "view: names of the server, read-only pages",
}

// TestDoors holds that cmd/rehearse is a door: each file declares a command, and what it does is in the rooms behind.
func TestDoors(t *testing.T) {
	imported, commands, others := map[string]bool{}, map[string]bool{}, []string{}
	for _, file := range goFiles(t) {
		if file.room != "cmd/rehearse" {
			continue
		}
		for _, room := range file.imports {
			imported[room] = true
			if _, ok := behindTheDoor[room]; !ok {
				t.Errorf("%s imports %s: call a function of a room that the door knows, or give a reason in behindTheDoor", file.path, room)
			}
		}
		if name := filepath.Base(file.path); declaresCommand(file.syntax) {
			commands[name] = true
		} else {
			others = append(others, name)
		}
	}
	for _, name := range others {
		of, _, _ := strings.Cut(strings.TrimSuffix(name, ".go"), "_")
		if !commands[of+".go"] && !slices.Contains(withoutCommand, name) {
			t.Errorf("%s: each file of the door declares a command, or has a part of the one that it is named after, but for %s", name, strings.Join(withoutCommand, ", "))
		}
	}
	for _, name := range withoutCommand {
		if !slices.Contains(others, name) {
			t.Errorf("withoutCommand names %s, which declares a command or is not there", name)
		}
	}
	for room := range behindTheDoor {
		if !imported[room] {
			t.Errorf("behindTheDoor names %s, which cmd/rehearse does not import", room)
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
