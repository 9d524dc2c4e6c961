package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/rehearse-dev/rehearse/internal/model/llm"
	"github.com/rehearse-dev/rehearse/internal/run/store/servertest"
	"github.com/rehearse-dev/rehearse/internal/testkit/golden"
	"github.com/rehearse-dev/rehearse/internal/web/api"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"rehearse": main, "toolagent": toolAgent, "natsserver": chaosNATS})
}

// TestScripts runs the whole program as testdata/script/*.txtar tell. Besides the usual commands there are
//
//	exits CODE rehearse …   runs the program and compares its exit code
//	serve SCRIPT            starts a scripted OpenAI-compatible server and points OPENAI_BASE_URL at it
//	requests FILE           writes the bodies of the requests that it has had since, one JSON object a line, keys sorted
//	listening FILE          waits until a server that was started in the background has written its address there; sets $SERVER
//	http STATUS METHOD URL [FILE] [NAME:VALUE…]  sends a file as JSON and prints the answer, whose status it compares
//	becomes STATUS METHOD URL …  sends the same until the answer has the status
//	jsonl FILE PATH…        prints the values at the paths (a.b.0) of each line of a JSON Lines file, separated by a blank
//	json FILE PATH          prints the value at the path of a JSON file
//	servers                 starts two servers, $AGENT and $JUDGE, which note the model and the key of each request
//	seen NAME LINE…         compares what one of them, agent or judge, was asked since with lines MODEL AUTHORIZATION
//	agents                  starts agents behind a WebSocket, $WS, and of A2A, $A2A
//	records DIR             prints the records of a run, sorted, without times and ids
//	artifacts DIR [KIND]    checks the artifacts of a run against their files, and lists them or prints those of a kind
//	embeddings              starts an embeddings endpoint; sets $EMBEDDINGS
//	langfuse …              a Langfuse for tests; see scriptLangfuse
//	little                  starts little chat agents, each at a path of its own below $AGENTS; see littleAgents
//	agent                   starts a little agent behind HTTP; sets $AGENT
//	toolagents              starts agents that call tools over MCP, $TOOLS and $TOOLS_WS
//	runserver               starts a server of runs that takes the token rht_good; sets $RUNS
//	loggedlines FILE KEY NUMBER  holds that a log is JSON, and counts its lines with an id
//	tallied RESULTS SCRAPE… compares what processes have counted, added up, with records, one a line
//	webhook N               starts a webhook that takes nothing N times; sets $HOOK
//	hooked N FILE           waits until it was told N times, and writes a line for each: status, event, whether the signature is right
//	samefigures REPORT REPORT METRIC…  compares the metrics of two replay reports, without times and those that are named
//	toolagent               is such an agent as a program
//	npm VARIABLE FILE ARG…  starts an agent of testdata/agents with Node.js and sets a variable to its address; after [!npm] skip
//	action NAME=VALUE…      runs the steps of action.yml with inputs and values of contexts; sets $OUT_NAME to each output
//	gitlab                  runs the job of ci/gitlab-ci.yml
//	viewing FILE            waits until `rehearse view` has written its address there; sets $VIEW to its base and $PAGE to its path
//
// ROOT is the repository; HOME and the work folder are empty; no key is set.
func TestScripts(t *testing.T) { runScripts(t, "../../testdata/script", nil) }

// TestScriptsOnPostgres runs the scripts that need a PostgreSQL server, with its address in POSTGRES.
func TestScriptsOnPostgres(t *testing.T) {
	address := servertest.NewPostgres(t).URL().String()
	runScripts(t, "../../testdata/script/postgres", map[string]string{"POSTGRES": address})
}

// runScripts runs the scripts of a folder with more variables.
func runScripts(t *testing.T, dir string, variables map[string]string) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		UpdateScripts:       golden.Update(),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("ROOT", root)
			for name, value := range variables {
				e.Setenv(name, value)
			}
			// else each call of the program ends with a second's sleep under -race
			e.Setenv("GORACE", "atexit_sleep_ms=0")
			return nil
		},
		Condition: condition,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "serve": serve, "requests": requests, "jsonl": jsonl, "json": jsonAt, "sameat": sameAt,
			"servers": startServers, "seen": seenBy, "listening": listening, "records": records,
			"embeddings": embeddings, "http": call, "becomes": becomes, "langfuse": scriptLangfuse(t),
			"agent": startAgent, "agents": startAgents, "vendors": vendors, "vendorsasked": vendorsAsked,
			"little": startLittle, "toolagents": startToolAgents, "runserver": startRunServer, "npm": startNPM,
			"artifacts": artifactsOf, "tallied": tallied, "loggedlines": loggedLines, "collector": collector,
			"spans": spans, "sametraces": sameTraces, "webhook": startWebhook, "hooked": hooked,
			"samefigures": sameFigures, "viewing": viewing, "action": runAction, "gitlab": runGitLab,
		},
	})
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARGS…")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := "0"
	if exit, ok := err.(interface{ ExitCode() int }); ok {
		code = fmt.Sprint(exit.ExitCode())
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if code != args[0] {
		ts.Fatalf("exit code %s, want %s", code, args[0])
	}
}

// seen keeps the requests that a script's server has had.
type seen struct {
	mu     sync.Mutex
	bodies [][]byte
}

func (s *seen) ServeHTTP(w http.ResponseWriter, r *http.Request, next http.Handler) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	s.bodies = append(s.bodies, body)
	s.mu.Unlock()
	r.Body = io.NopCloser(bytes.NewReader(body))
	next.ServeHTTP(w, r)
}

type seenKey struct{ ts *testscript.TestScript }

var servers sync.Map // of seenKey to *seen

func serve(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: serve SCRIPT")
	}
	model, err := llm.LoadScript(args[0], []byte(ts.ReadFile(args[0])))
	ts.Check(err)
	s, handler := &seen{}, api.OpenAI(model, api.Options{})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.ServeHTTP(w, r, handler)
	}))
	servers.Store(seenKey{ts}, s)
	ts.Defer(func() { web.Close(); servers.Delete(seenKey{ts}) })
	ts.Setenv("OPENAI_BASE_URL", web.URL+"/v1")
	ts.Setenv("MODEL_HOST", strings.TrimPrefix(web.URL, "http://"))
	ts.Setenv("OPENAI_API_KEY", "sk-test-1234567890")
}

func requests(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: requests FILE")
	}
	found, ok := servers.Load(seenKey{ts})
	if !ok {
		ts.Fatalf("serve a script first")
	}
	s, _ := found.(*seen)
	s.mu.Lock()
	defer s.mu.Unlock()
	var out bytes.Buffer
	for _, body := range s.bodies {
		var v any
		ts.Check(json.Unmarshal(body, &v))
		line, err := json.Marshal(v)
		ts.Check(err)
		out.Write(append(line, '\n'))
	}
	s.bodies = nil
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), out.Bytes(), 0o600))
}

func jsonl(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: jsonl FILE PATH…")
	}
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		var v any
		ts.Check(json.Unmarshal([]byte(line), &v))
		var fields []string
		for _, path := range args[1:] {
			data, err := json.Marshal(at(v, path))
			ts.Check(err)
			fields = append(fields, strings.Trim(string(data), `"`))
		}
		fmt.Fprintln(ts.Stdout(), strings.Join(fields, " "))
	}
}

func at(v any, path string) any {
	for part := range strings.SplitSeq(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[part]
		case []any:
			var i int
			if _, err := fmt.Sscan(part, &i); err != nil || i >= len(x) {
				return nil
			}
			v = x[i]
		default:
			return nil
		}
	}
	return v
}
