package target

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
	"github.com/rehearse-dev/rehearse/internal/model/mcp"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// toolParts are parts with a host of tools that ends with the test.
func toolParts(t *testing.T) Parts {
	t.Helper()
	h, err := mcp.Listen()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	p := httpParts()
	p.Tools = func() (*mcp.Host, error) { return h, nil }
	return p
}

// use calls a tool at an address.
func use(address, name string) {
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q}}`, name)
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	if response, err := client.Post(address, "application/json", strings.NewReader(body)); err == nil {
		_ = response.Body.Close()
	}
}

func toolNames(r chat.Reply) string {
	var names []string
	for _, c := range r.ToolCalls {
		names = append(names, c.Name+c.Source)
	}
	return strings.Join(names, " ")
}

const someTools = `mcp: {tools: [{name: one, results: [{result: 1}]}, {name: two, results: [{result: 2}]}]}`

// What an agent calls in a turn comes behind what its answer reports, also where the turn fails; a call that the tools
// cannot stand in for makes the turn an error that names the tool, whatever else went wrong.
func TestCallsJoinTheTurn(t *testing.T) {
	var asked atomic.Int32
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		first := asked.Add(1) == 1
		tools := r.Header.Get("X-Tools")
		for _, name := range []string{"one", "two", "teleport"} {
			if strings.Contains(string(body), name) {
				use(tools, name)
			}
		}
		switch {
		case strings.Contains(string(body), "busy") && first:
			w.WriteHeader(http.StatusServiceUnavailable)
		case strings.Contains(string(body), "dead"):
			w.WriteHeader(http.StatusServiceUnavailable)
		case strings.Contains(string(body), "slow"):
			w.WriteHeader(http.StatusGatewayTimeout)
		default:
			_, _ = io.WriteString(w, `{"reply": "ok", "calls": [{"name": "told"}]}`)
		}
	})
	for message, tc := range map[string]struct {
		calls, problem string
		attempts       int
	}{
		"hello":         {"told", "", 1},
		"one two":       {"told onemcp twomcp", "", 1},
		"busy one":      {"told onemcp", "", 2},
		"dead one":      {"onemcp", "answered 503", 2},
		"teleport one":  {"told onemcp teleportmcp", `a call over MCP failed: unknown tool "teleport"`, 1},
		"dead teleport": {"teleportmcp", `a call over MCP failed: unknown tool "teleport"; then: ` + url, 2},
		"slow teleport": {"teleportmcp", `a call over MCP failed: unknown tool "teleport"; then: ` + url, 1},
	} {
		t.Run(message, func(t *testing.T) {
			asked.Store(0)
			x := openHTTP(t,
				`{url: URL, headers: {X-Tools: "{{mcp_url}}"}, answer: {text: $.reply, tool_calls: "$.calls[*]"}, `+
					someTools+`}`, url, toolParts(t))
			s, err := x.Open(t.Context(), runner.Opening{Test: &suite.Test{ID: "t"}})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = s.Close() }()
			reply, err := s.Send(t.Context(), chat.Content{Text: message})
			if got := toolNames(reply); got != tc.calls {
				t.Errorf("calls: %s, want %s", got, tc.calls)
			}
			if tc.problem == "" && err != nil ||
				tc.problem != "" && (err == nil || !strings.Contains(err.Error(), tc.problem)) {
				t.Errorf("got %v, want %s", err, tc.problem)
			}
			if errors.Is(err, context.DeadlineExceeded) {
				t.Error("a call that fails is no time-out")
			}
			attempts := reply.Attempts
			if tries, ok := errors.AsType[interface {
				error
				Tries() int
			}](err); ok {
				attempts = max(attempts, tries.Tries())
			}
			if attempts != tc.attempts {
				t.Errorf("%d attempts, want %d", attempts, tc.attempts)
			}
		})
	}
}

// An A2A agent that is asked for its task goes on working: what it calls then counts, and is not lost where the
// question is asked again. A message that is sent again begins the turn anew.
func TestCallsOfA2A(t *testing.T) {
	var sent, got atomic.Int32
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		answer := func(result string) { fmt.Fprintf(w, `{"jsonrpc": "2.0", "id": 1, "result": %s}`, result) }
		switch {
		case strings.Contains(string(body), "SendMessage"):
			use(r.Header.Get("X-Tools"), "one")
			if sent.Add(1) == 1 {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			answer(`{"task": {"id": "t", "status": {"state": "TASK_STATE_WORKING"}}}`)
		case strings.Contains(string(body), "GetTask"):
			use(r.Header.Get("X-Tools"), "two")
			if got.Add(1) == 1 {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			answer(`{"id": "t", "status": {"state": "TASK_STATE_COMPLETED"}, "artifacts": [{"parts": [{"text": "done"}]}]}`)
		default:
			http.NotFound(w, r)
		}
	})
	x := openHTTP(t, `{kind: a2a, url: URL, headers: {X-Tools: "{{mcp_url}}"}, `+someTools+`}`, url, toolParts(t))
	replies, s, err := converse(t, x, runner.Opening{}, "hello")
	if err != nil || toolNames(replies[0]) != "onemcp twomcp twomcp" {
		t.Fatalf("%+v, %v", replies, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// A playback serves nothing: the address and the calls are the recorded ones, in each turn. What it does not hold fails
// the turn.
func TestRecordedCalls(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		use(strings.Trim(string(body), `"`), "one")
		_, _ = io.WriteString(w, "ok")
	})
	const yaml = `{url: URL, body: "{{mcp_url}}", ` + someTools + `}`
	type exchange struct{ name, classifierRequest, said string }
	var tape []exchange
	live := toolParts(t)
	live.Recorded = func(name string, m llm.Model) llm.Model {
		return asking(func(ctx context.Context, r llm.Request) (chat.Reply, error) {
			reply, err := m.Generate(ctx, r)
			tape = append(tape, exchange{name, r.Messages[0].Content.Text, reply.Text})
			return reply, err
		})
	}
	recorded, _, err := converse(t, openHTTP(t, yaml, url, live), runner.Opening{}, "a", "b")
	if err != nil {
		t.Fatal(err)
	}
	played := httpParts()
	played.Playing = true
	played.Recorded = func(name string, _ llm.Model) llm.Model {
		return asking(func(_ context.Context, r llm.Request) (chat.Reply, error) {
			for i, x := range tape {
				if x.name == name && x.classifierRequest == r.Messages[0].Content.Text {
					tape = append(tape[:i:i], tape[i+1:]...)
					return chat.Reply{Text: x.said}, nil
				}
			}
			return chat.Reply{}, errors.New("not recorded: " + name + " " + r.Messages[0].Content.Text)
		})
	}
	again, s, err := converse(t, openHTTP(t, yaml, url, played), runner.Opening{}, "a", "b")
	if err != nil {
		t.Fatal(err)
	}
	for i := range recorded {
		if toolNames(recorded[i]) != "onemcp" {
			t.Errorf("calls: %+v", recorded[i].ToolCalls)
		}
		one, _ := json.Marshal(recorded[i].ToolCalls)
		two, _ := json.Marshal(again[i].ToolCalls)
		if diff := cmp.Diff(string(one), string(two)); diff != "" {
			t.Errorf("turn %d (-recorded +played):\n%s", i+1, diff)
		}
	}
	if _, err := s.Send(t.Context(), chat.Content{Text: "c"}); err == nil ||
		!strings.Contains(err.Error(), "not recorded") {
		t.Errorf("a turn that was not recorded: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// asking is a model that is a function.
type asking func(context.Context, llm.Request) (chat.Reply, error)

func (f asking) Generate(ctx context.Context, r llm.Request) (chat.Reply, error) { return f(ctx, r) }

// Earlier messages and the agent's id of the conversation are those of the session within.
func TestToolsHideNothing(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"reply": "ok", "id": "own"}`)
	})
	x := openHTTP(t,
		`{url: URL, body: {m: "{{messages}}", s: "{{session_id}}", t: "{{mcp_url}}"}, session: {path: $.id}, `+
			someTools+`}`, url, toolParts(t))
	_, s, err := converse(t, x, runner.Opening{
		ConversationID: "c-1", Test: &suite.Test{ID: "t", Input: []chat.Message{chat.NewMessage(chat.User, "before")}},
	}, "hello")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if h, ok := s.(runner.Historian); !ok || len(h.Earlier()) != 1 {
		t.Errorf("earlier: %v", ok)
	}
	if i, ok := s.(runner.Identified); !ok || i.SessionID() != "own" || i.ConversationID() != "c-1" {
		t.Errorf("ids: %v", ok)
	}
}
