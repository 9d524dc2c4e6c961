package target

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	official "github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/a2asrv"
	"github.com/a2aproject/a2a-go/a2asrv/eventqueue"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// officialAgent is an agent on the protocol's own library. It repeats messages as an artifact; "book" asks for more,
// "die" fails, "say" answers with a plain message.
type officialAgent struct{}

func (officialAgent) Execute(ctx context.Context, r *a2asrv.RequestContext, q eventqueue.Queue) error {
	said := ""
	for _, p := range r.Message.Parts {
		if text, ok := p.(official.TextPart); ok {
			said += text.Text
		}
	}
	status := func(state official.TaskState, text string) error {
		var m *official.Message
		if text != "" {
			m = official.NewMessage(official.MessageRoleAgent, official.TextPart{Text: text})
		}
		e := official.NewStatusUpdateEvent(r, state, m)
		e.Final = state.Terminal() || state == official.TaskStateInputRequired
		return q.Write(ctx, e)
	}
	switch {
	case said == "say":
		m := official.NewMessage(official.MessageRoleAgent, official.TextPart{Text: "said in " + r.ContextID})
		m.ContextID = r.ContextID
		return q.Write(ctx, m)
	case r.StoredTask != nil:
		return errors.Join(q.Write(ctx, official.NewArtifactEvent(r, official.TextPart{Text: "booked " + said})),
			status(official.TaskStateCompleted, ""))
	}
	if err := q.Write(ctx, official.NewSubmittedTask(r, r.Message)); err != nil {
		return err
	}
	switch said {
	case "book":
		return status(official.TaskStateInputRequired, "where to?")
	case "die":
		return status(official.TaskStateFailed, "no money")
	}
	one := official.NewArtifactEvent(r, official.TextPart{Text: "you said "})
	return errors.Join(status(official.TaskStateWorking, ""), q.Write(ctx, one),
		q.Write(ctx, official.NewArtifactUpdateEvent(r, one.Artifact.ID, official.TextPart{Text: said})),
		status(official.TaskStateCompleted, ""))
}

func (officialAgent) Cancel(context.Context, *a2asrv.RequestContext, eventqueue.Queue) error {
	return nil
}

// The library of the protocol, which speaks 0.3, is understood: messages, tasks that ask, and streams.
func TestA2AOfficial(t *testing.T) {
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	mux.Handle("/rpc", a2asrv.NewJSONRPCHandler(a2asrv.NewHandler(officialAgent{})))
	mux.Handle("/.well-known/agent-card.json", a2asrv.NewStaticAgentCardHandler(&official.AgentCard{
		URL: server.URL + "/rpc", PreferredTransport: official.TransportProtocolJSONRPC, ProtocolVersion: "0.3.0",
		Capabilities: official.AgentCapabilities{Streaming: true},
	}))
	for _, stream := range []bool{false, true} {
		x := opened(t, wireParts(t), fmt.Sprintf(`{kind: a2a, url: "%s", stream: %v, timeout: 20s}`,
			server.URL, stream))
		replies, err := held(t, x, "c", "hello", "book", "to Rome", "say")
		if err != nil || len(replies) != 4 {
			t.Fatal(replies, err)
		}
		var state struct{ ID, ContextID string }
		if err := json.Unmarshal(replies[0].State, &state); err != nil || state.ID == "" || state.ContextID == "" {
			t.Errorf("stream %v: the task %s: %v", stream, replies[0].State, err)
		}
		for i, want := range []string{"you said hello", "where to?", "booked to Rome", "said in " + state.ContextID} {
			if replies[i].Text != want {
				t.Errorf("stream %v: %q, want %q", stream, replies[i].Text, want)
			}
		}
		if replies[0].Node != "completed" || replies[1].Node != "input-required" || replies[2].Node != "completed" ||
			replies[3].Node != "" || !replies[0].Usage.Unknown {
			t.Errorf("stream %v: %+v", stream, replies)
		}
		if stream != (replies[0].FirstText > 0) {
			t.Errorf("stream %v: first text after %s", stream, replies[0].FirstText)
		}
		if _, err := held(t, x, "d", "die"); err == nil || !strings.Contains(err.Error(), "no money") ||
			!strings.Contains(err.Error(), server.URL) {
			t.Errorf("stream %v: %v", stream, err)
		}
	}
}

// a2aAgent is an agent of version 1.0 that notes what it is sent. Answers are by the words of the message; GET answers
// with the card.
type a2aAgent struct {
	mu      sync.Mutex
	card    string
	answers map[string][]string
	seen    []string
}

func (a *a2aAgent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seen = append(a.seen, fmt.Sprintf("%s %s %s|%s|%s %s", r.Method, r.URL.RequestURI(), r.Header.Get("A2A-Version"),
		r.Header.Get("Authorization"), r.Header.Get("X-Conversation-Id"), body))
	if strings.HasSuffix(r.URL.Path, ".json") {
		if a.card == "" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(strings.ReplaceAll(a.card, "HOST", r.Host)))
		return
	}
	for words, answers := range a.answers {
		if !strings.Contains(string(body)+r.URL.Path, words) {
			continue
		}
		answer := answers[0]
		if len(answers) > 1 {
			a.answers[words] = answers[1:]
		}
		if stream, ok := strings.CutPrefix(answer, "STREAM"); ok {
			w.Header().Set("Content-Type", "text/event-stream")
			answer = stream
		}
		if status, rest, ok := strings.Cut(answer, "!"); ok && len(status) == 3 {
			var code int
			_, _ = fmt.Sscan(status, &code)
			w.Header().Set("Location", "http://elsewhere.example/")
			w.WriteHeader(code)
			answer = rest
		}
		_, _ = w.Write([]byte(answer))
		return
	}
}

func (a *a2aAgent) serve(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	return server.URL
}

const a2aV1 = `{"supportedInterfaces": [{"url": "grpc:1", "protocolBinding": "GRPC", "protocolVersion": "1.0"}, {"url": "http://HOST/%s", "protocolBinding": "%s", "protocolVersion": "1.0"}], "capabilities": {"streaming": true}}`

// Of a card the first interface that is spoken is taken. Tasks are asked for until they rest, and go on while they ask.
func TestA2AVersion1(t *testing.T) {
	for _, binding := range []string{"JSONRPC", "HTTP+JSON"} {
		wrap := func(s string) string {
			if binding == "JSONRPC" {
				return `{"jsonrpc": "2.0", "id": 1, "result": ` + s + `}`
			}
			return s
		}
		get := "GetTask"
		if binding != "JSONRPC" {
			get = "/tasks/t-1"
		}
		a := &a2aAgent{card: fmt.Sprintf(a2aV1, "api", binding), answers: map[string][]string{
			`"one"`: {wrap(`{"task": {"id": "t-1", "contextId": "ctx", "status": {"state": "TASK_STATE_SUBMITTED"}}}`)},
			get: {
				wrap(`{"id": "t-1", "contextId": "ctx", "status": {"state": "TASK_STATE_WORKING"}}`),
				wrap(`{"id": "t-1", "contextId": "ctx", "status": {"state": "TASK_STATE_INPUT_REQUIRED", "message": {"parts": [{"text": "more?"}]}}}`),
			},
			`"two"`:   {wrap(`{"task": {"id": "t-1", "contextId": "ctx", "status": {"state": "TASK_STATE_COMPLETED"}, "artifacts": [{"artifactId": "a", "parts": [{"text": "done"}]}]}}`)},
			`"three"`: {wrap(`{"message": {"messageId": "m", "contextId": "ctx", "role": "ROLE_AGENT", "parts": [{"text": "bye"}]}}`)},
		}}
		x := opened(t, wireParts(t), `{kind: a2a, url: "`+a.serve(t)+
			`/base", headers: {Authorization: "Bearer {{vars.who}}"}}`)
		replies, err := held(t, x, "c-1", "one", "two", "three")
		if err != nil || len(replies) != 3 || replies[0].Text != "more?" || replies[1].Text != "done" ||
			replies[2].Text != "bye" || replies[1].Node != "TASK_STATE_COMPLETED" {
			t.Fatalf("%s: %+v, %v", binding, replies, err)
		}
		message := func(n, text, more string) string {
			return `{"message": {"messageId": "c-1-` + n + `", "role": "ROLE_USER", "parts": [{"text": "` + text +
				`"}]` + more + `}}`
		}
		want := []string{
			"/base/.well-known/agent-card.json", message("1", "one", ""), "", "",
			message("2", "two", `, "contextId": "ctx", "taskId": "t-1"`), message("3", "three", `, "contextId": "ctx"`),
		}
		if len(a.seen) != len(want) {
			t.Fatalf("%s: %q", binding, a.seen)
		}
		for i, seen := range a.seen {
			head, body, _ := strings.Cut(seen, " {")
			sent := "{" + body
			var call struct {
				Params json.RawMessage `json:"params"`
			}
			if binding == "JSONRPC" && json.Unmarshal([]byte(sent), &call) == nil {
				sent = string(call.Params)
			}
			if i > 0 && !strings.Contains(head, "1.0|Bearer Ann|c-1") || i == 0 && !strings.Contains(head, want[0]) ||
				strings.HasPrefix(want[i], "{") && !source.SameJSON([]byte(sent), []byte(want[i])) {
				t.Errorf("%s: %d: %s\nwant %s", binding, i, seen, want[i])
			}
		}
	}
}

// The card itself may be named, and an endpoint without one is spoken to as JSON-RPC 1.0.
func TestA2AAddresses(t *testing.T) {
	hello := map[string][]string{"SendMessage": {
		`{"jsonrpc": "2.0", "result": {"message": {"parts": [{"text": "hi"}]}}}`,
	}}
	for _, tc := range []struct{ card, path, kind string }{
		{fmt.Sprintf(a2aV1, "rpc", "JSONRPC"), "", "kind: a2a"},
		{fmt.Sprintf(a2aV1, "rpc", "JSONRPC"), "/my/card.json", "kind: a2a"},
		{"", "/rpc", "kind: a2a"},
		{`{"jsonrpc": "2.0", "error": {"code": -32600, "message": "no"}}`, "/rpc", "preset: a2a"},
	} {
		x := opened(t, wireParts(t), `{`+tc.kind+`, url: "`+(&a2aAgent{card: tc.card, answers: hello}).serve(t)+
			tc.path+`"}`)
		if replies, err := held(t, x, "c", "x"); err != nil || replies[0].Text != "hi" {
			t.Errorf("%+v: %+v, %v", tc, replies, err)
		}
	}
	c, ok := Kinds().Short("a2a:" + (&a2aAgent{answers: hello}).serve(t))
	if !ok || c.Kind != "a2a" {
		t.Fatalf("%+v", c)
	}
	x, err := Open(c, wireParts(t))
	if err != nil {
		t.Fatal(err)
	}
	if replies, err := held(t, x, "c", "x"); err != nil || replies[0].Text != "hi" {
		t.Errorf("%+v, %v", replies, err)
	}
}

func TestA2ABreaks(t *testing.T) {
	for answer, says := range map[string]string{
		`{"jsonrpc": "2.0", "error": {"code": -32603, "message": "out of money"}}`: "the agent reports an error: " +
			"out of money (-32603)",
		`{"task": {"id": "t", "status": {"state": "TASK_STATE_REJECTED"}}}`: "the task is rejected",
		`{"task": {"id": "t", "status": {"state": "TASK_STATE_COMPLETED"}}}`: "no reply at message, " +
			"artifacts or status.message",
		`{"task": {"id": "t", "status": {"state": "TASK_STATE_WORKING"}}}`: "no answer within 700ms: " +
			"the task is TASK_STATE_WORKING",
		`{"message": {"parts": [{"data": 1}]}}`: "the message has no text",
		`{"hello": 1}`:                          "neither a task nor a message",
		``:                                      "empty answer",
		`<!doctype html>`:                       "HTML",
		`{"message": {"parts": [`:               "broke off",
		`hello`:                                 "not JSON",
		"{\"x\": \"\xff\"}":                     "UTF-8",
		`{"x": "` + strings.Repeat("x", 5000) + `"}`: "larger than 4 KB",
		`307!`: "it redirects to elsewhere.example",
		`404!{"error": {"message": "no such agent"}}`: "answered 404 Not Found: no such agent",
		`504!`: "answered 504",
	} {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			a := &a2aAgent{
				card:    fmt.Sprintf(a2aV1, "rpc", "JSONRPC"),
				answers: map[string][]string{"SendMessage": {answer}, "GetTask": {answer}},
			}
			address := a.serve(t)
			timeout := "20s"
			if strings.HasPrefix(says, "no answer") {
				timeout = "700ms"
			}
			_, err := held(t, opened(t, wireParts(t), `{kind: a2a, url: "`+address+
				`?key=hush", max_bytes: 4096, timeout: `+timeout+`}`), "c", "a")
			if err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), address) ||
				strings.Contains(err.Error(), "hush") {
				t.Errorf("%s: %v, want %q", answer, err, says)
			}
			if timedOut := errors.Is(err, context.DeadlineExceeded); timedOut !=
				(timeout == "700ms" || strings.Contains(says, "504")) {
				t.Errorf("%s: a time-out: %v", answer, timedOut)
			}
		})
	}
	for card, says := range map[string]string{
		`{}`: "neither supportedInterfaces nor url", `<html>`: "HTML",
		`{"supportedInterfaces": [{"url": "g:1", "protocolBinding": "GRPC", "protocolVersion": "1.0"}]}`: "offers " +
			"only GRPC 1.0",
	} {
		if _, err := held(t, opened(t, wireParts(t), `{kind: a2a, url: "`+(&a2aAgent{card: card}).serve(t)+`"}`),
			"c", "a"); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", card, err, says)
		}
	}
	if _, err := held(t, opened(t, wireParts(t), `{kind: a2a, url: "http://127.0.0.1:1"}`), "c", "a"); err == nil ||
		!strings.Contains(err.Error(), "cannot be reached") {
		t.Error(err)
	}
}

// A stream that ends before its task rests is followed by questions after the task.
func TestA2AStreamEndsEarly(t *testing.T) {
	a := &a2aAgent{card: fmt.Sprintf(a2aV1, "rpc", "JSONRPC"), answers: map[string][]string{
		"SendStreamingMessage": {"STREAM" + `data: {"jsonrpc": "2.0", "result": {"task": {"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}}}}` + "\n\n"},
		"GetTask":              {`{"jsonrpc": "2.0", "result": {"id": "t", "status": {"state": "TASK_STATE_COMPLETED"}, "artifacts": [{"parts": [{"text": "late"}]}]}}`},
	}}
	replies, err := held(t, opened(t, wireParts(t), `{kind: a2a, url: "`+a.serve(t)+`", stream: true}`), "c", "a")
	if err != nil || replies[0].Text != "late" {
		t.Errorf("%+v, %v", replies, err)
	}
}

func TestA2ANeverMixes(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var call struct {
			Params struct {
				Message struct {
					ContextID string `json:"contextId"`
					Parts     []struct{ Text string }
				}
			}
		}
		if json.Unmarshal(body, &call) != nil {
			http.NotFound(w, r)
			return
		}
		context := call.Params.Message.ContextID
		if context == "" {
			context = official.NewContextID()
		}
		_, _ = fmt.Fprintf(w, `{"jsonrpc": "2.0", "result": {"task": {"id": "t", "contextId": %q, "status": {"state": "TASK_STATE_COMPLETED"}, "artifacts": [{"parts": [{"text": %q}]}]}}}`,
			context, context+" "+call.Params.Message.Parts[0].Text)
	}))
	defer server.Close()
	x := opened(t, wireParts(t), `{kind: a2a, url: "`+server.URL+`"}`)
	neverMixes(t, x, func(message string, r chat.Reply) (string, bool) {
		var state struct{ ContextID string }
		return state.ContextID, json.Unmarshal(r.State, &state) == nil && r.Text == state.ContextID+" "+message
	})
}

func TestA2AFaults(t *testing.T) {
	_, _, err := load(t, Kinds(), `targets:
  a: {kind: a2a}
  b: {kind: a2a, url: "ftp://x", headers: {"X Y": 1, Z: "{{nothing}}"}, stream: 3, body: x}
`)
	for _, want := range []string{
		":2:", "an a2a target needs an address", ":3:", "no http or https address", "is no name of a header",
		"unknown placeholder {{ nothing }}", "stream", `unknown key "body"`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nlacks %q", err, want)
		}
	}
}
