package target_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/eval/target"
	"github.com/rehearse-dev/rehearse/internal/eval/target/targettest"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

const echoFlow = `
id: echo
start: begin
nodes:
  - {id: begin, type: start, prompt: Echo., next: [talk]}
  - id: talk
    type: conversation
    prompt: Echo.
    options: [{id: done, label: Done, when: says bye, next: null}]
`

const echoScript = `
rules:
  - {when: {user: '^fail$'}, fault: {status: 400}}
  - {when: {after: tool, user: '(?s)(.*)'}, reply: 'you said $1'}
  - {when: {args: {current_node_id: begin}}, tool_calls: [{name: process_node, args: {current_node_id: begin, next_node_id: talk}}]}
  - {when: {user: bye}, tool_calls: [{name: process_node, args: {current_node_id: talk, option_id: done}}]}
  - {when: {user: .}, tool_calls: [{name: process_node, args: {current_node_id: talk, option_id: '-1'}}]}
`

// echo returns the flow and an engine whose model repeats the user.
func echo(t *testing.T) (*flow.Engine, *flow.Flow) {
	t.Helper()
	flows, err := flow.Load("echo.yaml", []byte(echoFlow))
	if err != nil {
		t.Fatal(err)
	}
	model, err := llm.LoadScript("echo.script.yaml", []byte(echoScript))
	if err != nil {
		t.Fatal(err)
	}
	library, err := flow.NewLibrary(flows...)
	if err != nil {
		t.Fatal(err)
	}
	return flow.New(flow.Config{Model: model, Flows: library}), flows[0]
}

var memoryOff = target.FlowSettings{Pipeline: &flow.MemoryPipeline{}}

// execution is a server of POST /execute, as small as it can be; broken requests fail so many times first.
func execution(t *testing.T, engine *flow.Engine, fail int) *target.Execute {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if fail > 0 {
			fail--
			http.Error(w, "later", http.StatusServiceUnavailable)
			return
		}
		var c *flow.Context
		if err == nil {
			c, err = flow.ReadContext(body)
		}
		var result *flow.Result
		if err == nil {
			result, err = engine.Execute(r.Context(), c, flow.Options{Trusted: true})
		}
		if err != nil {
			w.WriteHeader(http.StatusUnprocessableEntity)
			_ = json.NewEncoder(w).Encode(map[string]string{"detail": err.Error()})
			return
		}
		_ = json.NewEncoder(w).Encode(result)
	}))
	t.Cleanup(server.Close)
	return &target.Execute{
		URL: server.URL, Flow: flow.Source{Ref: "echo"}, Start: "begin", FlowSettings: memoryOff,
		Client: server.Client(), Retries: 2,
	}
}

func TestFlow(t *testing.T) {
	engine, f := echo(t)
	targettest.Run(t, &target.Flow{Engine: engine, Flow: f, FlowSettings: memoryOff})
}

func TestExecute(t *testing.T) {
	engine, _ := echo(t)
	targettest.Run(t, execution(t, engine, 0))
}

// TestFlowAndExecuteAgree holds a conversation with the flow in the process and behind HTTP: replies and states are the
// same.
func TestFlowAndExecuteAgree(t *testing.T) {
	engine, f := echo(t)
	test := &suite.Test{
		ID: "agree", Suite: "s", Sampling: &suite.Sampling{Temperature: new(0.0), Seed: new(7)},
		Start: suite.Start{
			Node: "talk", Memory: json.RawMessage(`{"turn_index":3,"facts":[{"key":"name","value":"Ada","more":1}]}`),
		},
		Input: []chat.Message{
			chat.NewMessage(chat.System, "left out"), chat.NewMessage(chat.User, "earlier"),
			chat.NewMessage(chat.Assistant, "answer"),
		},
	}
	var held [2][]chat.Reply
	for i, tg := range []runner.Target{
		&target.Flow{Engine: engine, Flow: f, FlowSettings: memoryOff}, execution(t, engine, 1),
	} {
		s, err := tg.Open(t.Context(), runner.Opening{Test: test})
		if err != nil {
			t.Fatal(err)
		}
		for _, said := range []string{"hello", "<b>&", "bye"} {
			reply, err := s.Send(t.Context(), chat.Content{Text: said})
			if err != nil {
				t.Fatal(err)
			}
			held[i] = append(held[i], comparable(t, reply))
		}
		if _, err := s.Send(t.Context(), chat.Content{Text: "still there?"}); !isFault(err, flow.Over) {
			t.Errorf("a completed flow goes on: %v", err)
		}
	}
	if d := cmp.Diff(held[0], held[1], cmpopts.IgnoreFields(chat.Reply{}, "Cost")); d != "" {
		t.Errorf("process and HTTP differ (-process +HTTP):\n%s", d)
	}
	last := held[0][2]
	if last.Node != "" || len(last.ToolCalls) != 1 || !strings.Contains(string(last.State), `"flow_completed":true`) {
		t.Errorf("the last reply is %+v, state %s", last, last.State)
	}
}

func isFault(err error, want flow.Fault) bool {
	var failed *flow.Error
	return errors.As(err, &failed) && failed.Fault == want
}

// comparable removes what differs from turn to turn: times and trace ids.
func comparable(t *testing.T, r chat.Reply) chat.Reply {
	t.Helper()
	r.TraceID, r.Latency, r.Attempts = "", 0, 0
	for i := range r.ToolCalls {
		r.ToolCalls[i].LatencyMS = 0
	}
	var state map[string]any
	if err := json.Unmarshal(r.State, &state); err != nil {
		t.Fatal(err)
	}
	usage, _ := state["usage"].(map[string]any)
	delete(usage, "latency_ms")
	var err error
	if r.State, err = json.Marshal(state); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestExecuteErrors says what the server said, and how often it was asked.
func TestExecuteErrors(t *testing.T) {
	engine, _ := echo(t)
	for _, tc := range []struct {
		name string
		set  func(*target.Execute)
		want string
	}{
		{"the server's reason", func(e *target.Execute) { e.Start = "nowhere" }, `has no node "nowhere"`},
		{"still unavailable", func(e *target.Execute) { e.Retries = 0 }, "503"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			fails := 0
			if tc.want == "503" {
				fails = 9
			}
			e := execution(t, engine, fails)
			tc.set(e)
			s, err := e.Open(t.Context(), runner.Opening{Test: &suite.Test{ID: "x"}})
			if err != nil {
				t.Fatal(err)
			}
			_, err = s.Send(t.Context(), chat.Content{Text: "hello"})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			var tried interface{ Tries() int }
			if !errors.As(err, &tried) || tried.Tries() != 1 {
				t.Errorf("the error does not say that it took one attempt: %v", err)
			}
		})
	}
}

// tried is a model whose second call took another attempt.
type tried struct {
	llm.Model
	calls int
}

func (m *tried) Generate(ctx context.Context, r llm.Request) (chat.Reply, error) {
	reply, err := m.Model.Generate(ctx, r)
	m.calls++
	reply.Attempts = min(m.calls, 2)
	return reply, err
}

// A turn says that one of its calls had to be tried again.
func TestFlowCountsAttempts(t *testing.T) {
	engine, f := echo(t)
	engine.Model = &tried{Model: engine.Model}
	s, err := (&target.Flow{Engine: engine, Flow: f, FlowSettings: memoryOff}).Open(t.Context(),
		runner.Opening{Test: &suite.Test{ID: "a"}})
	if err != nil {
		t.Fatal(err)
	}
	reply, err := s.Send(t.Context(), chat.Content{Text: "hello"})
	if err != nil || reply.Attempts != 3 {
		t.Errorf("%d attempts, %v", reply.Attempts, err)
	}
}
