package wire_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/grader"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// write puts files into a folder and returns it.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// open opens a setup with variables as its environment, and closes it at the end of the test.
func open(t *testing.T, o wire.Options, variables map[string]string) *wire.Setup {
	t.Helper()
	for name, value := range variables {
		o.Environ = append(o.Environ, name+"="+value)
	}
	o.LookupEnv = func(name string) (string, bool) { value, ok := variables[name]; return value, ok }
	s, err := wire.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// A model that a chatbot, a judge and a target share has one limit: with concurrency 1 the endpoint never sees two
// requests at once.
func TestOneLimitForAll(t *testing.T) {
	var inFlight, most, requests atomic.Int32
	second := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		now := inFlight.Add(1)
		defer inFlight.Add(-1)
		for was := most.Load(); now > was && !most.CompareAndSwap(was, now); was = most.Load() {
		}
		if now > 1 {
			close(second)
		}
		if requests.Add(1) == 1 { // time for the others to come, if they may
			select {
			case <-second:
			case <-time.After(300 * time.Millisecond):
			}
		}
		_, _ = io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, `{"choices": [{"message": {"role": "assistant", "content": "{\"score\": 1}"}}]}`)
	}))
	defer server.Close()
	dir := write(t, map[string]string{
		"rehearse.yaml": "models: {shared: {provider: openai, model: m, base_url: " + server.URL +
			", api_key_env: A_KEY, concurrency: 1}}\n",
	})
	s := open(t, wire.Options{Config: filepath.Join(dir, "rehearse.yaml")}, map[string]string{"A_KEY": "sk-12345678"})
	inside, err := s.Model("shared")
	if err != nil {
		t.Fatal(err)
	}
	j, err := s.Judge(wire.Judging{Name: "shared"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Target("shared", suite.Execution{Retries: new(0)}); err != nil {
		t.Fatal(err)
	}
	var asking sync.WaitGroup
	for range 3 {
		asking.Go(func() {
			request := llm.Request{Messages: []chat.Message{{Role: chat.User, Content: chat.Content{Text: "hi"}}}}
			if _, err := inside.Generate(t.Context(), request); err != nil {
				t.Error(err)
			}
		})
		asking.Go(func() {
			_, err := j.Decide(t.Context(), grader.Question{Mode: grader.Free, Task: "good"})
			if err != nil {
				t.Error(err)
			}
		})
	}
	asking.Wait()
	if most.Load() != 1 || requests.Load() < 4 {
		t.Errorf("%d requests, %d at once", requests.Load(), most.Load())
	}
}

// A suite's configuration is the nearest at or above it; a configuration that is named replaces all.
func TestAt(t *testing.T) {
	dir := write(t, map[string]string{
		"rehearse.yaml": "workers: 1\n", "a/rehearse.yaml": "workers: 2\n", "a/deep/x": "", "b/x": "",
		"bad/rehearse.yaml": "workrs: 3\n",
	})
	s := open(t, wire.Options{}, nil)
	for folder, want := range map[string]int{".": 1, "a": 2, "a/deep": 2, "b": 1} {
		at, err := s.At(filepath.Join(dir, folder))
		if err != nil {
			t.Fatal(folder, err)
		}
		if got := at.Config().Workers; got != want {
			t.Errorf("%s: %d workers, want %d", folder, got, want)
		}
	}
	if _, err := s.At(filepath.Join(dir, "bad")); !source.IsInvalid(err) || !strings.Contains(err.Error(), "workrs") {
		t.Errorf("bad: %v", err)
	}
	named := open(t, wire.Options{Config: filepath.Join(dir, "a/rehearse.yaml")}, nil)
	if at, err := named.At(filepath.Join(dir, "b")); err != nil || at.Config().Workers != 2 {
		t.Errorf("named: %d workers, %v", at.Config().Workers, err)
	}
}

const tea = `id: tea
start: begin
nodes:
  - {id: begin, type: start, prompt: Say hello., next: [ask]}
  - id: ask
    type: conversation
    prompt: Ask whether tea is wanted.
    options: [{id: tea, label: Tea, when: wants tea, next: bye}]
  - {id: bye, type: stop, prompt: Say goodbye.}
`

// A flow is opened as its configured target says, whoever opens it; without one it has the knowledge that lies beside
// it.
func TestTargetOf(t *testing.T) {
	dir := write(t, map[string]string{
		"flows/tea.flow.yaml":          tea,
		"flows/knowledge/returns/a.md": "# Lamps\n\nBroken lamps come back within 30 days.\n",
		"rehearse.yaml": "targets:\n  other: {kind: model, model: lexical}\n" +
			"  tea: {kind: flow, flow: flows/tea.flow.yaml, knowledge_bases: [returns], memory: false, limits: " +
			"{max_tool_iterations: 3}}\n",
	})
	s := open(t, wire.Options{Config: filepath.Join(dir, "rehearse.yaml")}, nil)
	bare := open(t, wire.Options{}, nil)
	library, err := flow.OpenLibrary(source.Files{}, filepath.Join(dir, "flows/tea.flow.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	f := library.Flows()[0]
	if _, got := s.TargetOf(f); len(got.KnowledgeBases) != 1 || got.Memory == nil || got.Memory.Enabled ||
		got.MaxToolIterations != 3 {
		t.Errorf("configured: %+v", got)
	}
	for name, at := range map[string]*wire.Setup{"configured": s, "bare": bare} {
		engine, loaded, err := at.Flow(at.TargetOf(f))
		if err != nil {
			t.Fatal(name, err)
		}
		if loaded.ID != "tea" || engine.Knowledge == nil {
			t.Errorf("%s: flow %q, knowledge %v", name, loaded.ID, engine.Knowledge)
		}
	}
}

// What is wrong is a mistake of whoever asked; a missing key is not.
func TestErrors(t *testing.T) {
	s := open(t, wire.Options{}, nil)
	for name, invalid := range map[string]bool{
		"nobody:x": true, "nothing": true, "scripted:absent.yaml": true, "openai:gpt-5": false,
	} {
		_, err := s.Model(name)
		if err == nil || source.IsInvalid(err) != invalid {
			t.Errorf("%s: %v; invalid: %v, want %v", name, err, source.IsInvalid(err), invalid)
		}
	}
	if _, err := wire.Open(wire.Options{Playback: "absent.jsonl"}); !source.IsInvalid(err) {
		t.Errorf("a recording that is not there: %v", err)
	}
}
