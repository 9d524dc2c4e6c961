package target

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/httpclient"
	"github.com/rehearse-dev/rehearse/internal/base/trace"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// wireParts are parts without a recording.
func wireParts(t *testing.T) Parts {
	t.Helper()
	transport := httpclient.Transport()
	t.Cleanup(transport.CloseIdleConnections)
	p := Parts{
		Recorded: func(_ string, m llm.Model) llm.Model { return m }, Client: httpclient.Client(transport),
		Warn: func(string) {}, Limited: llm.NewLimits().Limit, Retries: new(0),
	}
	p.Closing = func(closeIt func() error) {
		t.Cleanup(func() {
			if err := closeIt(); err != nil {
				t.Error(err)
			}
		})
	}
	return p
}

// opened opens the target x of a configuration.
func opened(t *testing.T, p Parts, yaml string) runner.Target {
	t.Helper()
	if !strings.HasPrefix(yaml, "{") {
		yaml = "kind: command\n" + yaml
	}
	f, _, err := load(t, Kinds(), "targets:\n  x:\n    "+
		strings.ReplaceAll(strings.TrimSpace(yaml), "\n", "\n    ")+"\n")
	if err != nil {
		t.Fatal(err)
	}
	x, err := Open(f.Targets["x"], p)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// held holds a conversation and returns its replies, or where it failed the error as last one.
func held(t *testing.T, x runner.Target, id string, messages ...string) (replies []chat.Reply, err error) {
	t.Helper()
	s, err := x.Open(t.Context(), runner.Opening{
		Test: &suite.Test{ID: "t", Vars: map[string]any{"who": "Ann"}}, ConversationID: id,
	})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, message := range messages {
		reply, err := s.Send(t.Context(), chat.Content{Text: message})
		if err != nil {
			return replies, err
		}
		replies = append(replies, reply)
	}
	return replies, nil
}

// socketAgent serves WebSockets, each by the function.
func socketAgent(t *testing.T,
	serve func(ctx context.Context, c *websocket.Conn, r *http.Request)) (address string, open *atomic.Int32) {
	t.Helper()
	open = &atomic.Int32{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"chat.v1"}})
		if err != nil {
			return
		}
		open.Add(1)
		defer open.Add(-1)
		defer c.CloseNow()
		serve(r.Context(), c, r)
	}))
	t.Cleanup(server.Close)
	return "ws" + strings.TrimPrefix(server.URL, "http"), open
}

func write(ctx context.Context, c *websocket.Conn, messages ...string) {
	for _, m := range messages {
		_ = c.Write(ctx, websocket.MessageText, []byte(m)) // the other side may have gone
	}
}

// echo answers each message with a JSON object that has the connection's number, so that a mix-up shows.
func echo(numbers *atomic.Int32) func(ctx context.Context, c *websocket.Conn, _ *http.Request) {
	return func(ctx context.Context, c *websocket.Conn, _ *http.Request) {
		number := numbers.Add(1)
		for {
			_, data, err := c.Read(ctx)
			if err != nil {
				return
			}
			var asked struct {
				Message string `json:"message"`
				Session string `json:"session_id"`
			}
			_ = json.Unmarshal(data, &asked)
			write(ctx, c, fmt.Sprintf(`{"reply": %q, "on": %d, "session": %q}`, "you said "+asked.Message, number,
				asked.Session))
		}
	}
}

// The short form needs no configuration: the default body, and the reply found by its name.
func TestWebsocketShort(t *testing.T) {
	address, open := socketAgent(t, echo(new(atomic.Int32)))
	c, ok := Kinds().Short(address)
	if !ok || c.Kind != "websocket" {
		t.Fatalf("%s is no short form: %+v", address, c)
	}
	x, err := Open(c, wireParts(t))
	if err != nil {
		t.Fatal(err)
	}
	replies, err := held(t, x, "c1", "one", `"two"`)
	if err != nil || replies[0].Text != "you said one" || replies[1].Text != `you said "two"` {
		t.Errorf("%+v, %v", replies, err)
	}
	if !replies[0].Usage.Unknown || !replies[0].Cost.Unknown || replies[0].TraceID != trace.ID("c1") {
		t.Errorf("what is not known: %+v", replies[0])
	}
	for range 500 {
		if open.Load() == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("a connection stays open")
}

// The handshake bears the conversation, the trace and the configured headers; the first message comes before the first
// turn and the last after it.
func TestWebsocketHandshake(t *testing.T) {
	said := make(chan string, 10)
	address, _ := socketAgent(t, func(ctx context.Context, c *websocket.Conn, r *http.Request) {
		said <- fmt.Sprint(r.URL.RequestURI(), " ", r.Header.Get("X-Conversation-Id"), " ", r.Header.Get("X-Who"),
			" ", c.Subprotocol(), " ", strings.HasPrefix(r.Header.Get("traceparent"), "00-"+trace.ID("c 1")+"-"), " ",
			r.Header.Get("X-Gone"))
		write(ctx, c, `{"type": "hello"}`)
		for {
			_, data, err := c.Read(ctx)
			if err != nil {
				close(said)
				return
			}
			said <- string(data)
			if strings.Contains(string(data), "hi") {
				write(ctx, c, "noise", `{"type": "ready", "id": "s-7"}`)
				continue
			}
			write(ctx, c, `{"reply": "ok"}`)
		}
	})
	x := opened(t, wireParts(t), `{url: "`+address+
		`/at/{{vars.who}}?c={{conversation_id}}", subprotocols: [chat.v1], headers: {X-Who: "{{vars.who}} é"},
 open: {body: {hi: "{{test_id}}"}, wait: {path: $.id, if: {$.type: ready}}}, close: {body: 'bye "{{session_id}}"'}, session: {path: $.id},
 body: {text: "{{message}}", id: "{{session_id}}"}, answer: $.reply}`)
	replies, err := held(t, x, "c 1", "one")
	if err != nil || replies[0].Text != "ok" {
		t.Errorf("%+v, %v", replies, err)
	}
	var got []string
	for line := range said {
		got = append(got, line)
	}
	want := []string{
		"/at/Ann?c=c%201 c 1 Ann %C3%A9 chat.v1 true ", `{"hi":"t"}`, `{"text":"one","id":"s-7"}`, `bye "s-7"`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%q", got)
	}
}

// With an end, the reply goes on to it; without one, the first message with a reply is it, and what no pick hits is
// passed over.
func TestWebsocketStreams(t *testing.T) {
	address, _ := socketAgent(t, func(ctx context.Context, c *websocket.Conn, _ *http.Request) {
		for {
			if _, _, err := c.Read(ctx); err != nil {
				return
			}
			write(ctx, c, `{"type": "status", "busy": true}`, `{"type": "delta", "t": "Hel"}`,
				`{"type": "tool", "name": "look", "args": {"n": 1}}`, `{"type": "delta", "t": "lo"}`,
				`{"type": "done", "usage": {"in": 1000, "out": 500}}`)
		}
	})
	x := opened(t, wireParts(t), `{url: "`+address+`", input_price: 1, output_price: 2,
 answer: {tool_calls: {path: "$", if: {$.type: tool}}, usage: {input_tokens: $.usage.in, output_tokens: $.usage.out}},
 stream: {text: $.t, end: {if: {$.type: done}}}}`)
	replies, err := held(t, x, "c", "a", "b")
	if err != nil || len(replies) != 2 {
		t.Fatal(replies, err)
	}
	for _, r := range replies {
		if r.Text != "Hello" || len(r.ToolCalls) != 1 || r.Usage.OutputTokens != 500 || r.Cost.USD != 0.002 ||
			r.Cost.Unknown || r.FirstText <= 0 || r.FirstText > r.Latency {
			t.Errorf("%+v", r)
		}
	}
	first := opened(t, wireParts(t), `{url: "`+address+`", answer: $.t}`)
	if replies, err := held(t, first, "c", "a"); err != nil || replies[0].Text != "Hel" {
		t.Errorf("%+v, %v", replies, err)
	}
}

// An agent that speaks on after its answer, or before it is spoken to, is not taken at its word for another message.
func TestWebsocketSpeaksUnasked(t *testing.T) {
	twice := func(ctx context.Context, c *websocket.Conn, _ *http.Request) {
		for {
			if _, _, err := c.Read(ctx); err != nil {
				return
			}
			write(ctx, c, `{"typing": true}`, `{"reply": "one"}`, `{"reply": "more"}`, `{"typing": false}`)
		}
	}
	greets := func(ctx context.Context, c *websocket.Conn, r *http.Request) {
		write(ctx, c, `{"reply": "Welcome!"}`)
		echo(new(atomic.Int32))(ctx, c, r)
	}
	for name, tc := range map[string]struct {
		agent    func(context.Context, *websocket.Conn, *http.Request)
		messages []string
		wait     bool
		says     string
		warns    string
	}{
		"more, then a turn": {twice, []string{"a", "b"}, true, `it spoke on after its answer: {"reply": "more"}`, ""},
		"more at the end":   {twice, []string{"a"}, false, "", `has a message after its last answer`},
		"a greeting": {
			greets, []string{"a"}, true, `it spoke before the first message: {"reply": "Welcome!"}`, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			address, _ := socketAgent(t, tc.agent)
			p, warned := wireParts(t), []string(nil)
			p.Warn = func(text string) { warned = append(warned, text) }
			x := opened(t, p, `{url: "`+address+`", answer: $.reply}`)
			s, err := x.Open(t.Context(), runner.Opening{Test: &suite.Test{ID: "t"}, ConversationID: "c"})
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range tc.messages {
				if tc.wait { // until what the agent says unasked is there
					box := s.(*spokenSession).wire.(*socket).box
					for range 500 {
						if box.Len() > 0 || m == tc.messages[0] && len(tc.messages) > 1 {
							break
						}
						time.Sleep(10 * time.Millisecond)
					}
				}
				if _, err = s.Send(t.Context(), chat.Content{Text: m}); err != nil {
					break
				}
			}
			if closing := s.Close(); closing != nil {
				t.Error(closing)
			}
			if (err == nil) != (tc.says == "") || err != nil && !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%v, want %q", err, tc.says)
			}
			if all := strings.Join(warned, "\n"); tc.warns != "" && !strings.Contains(all, tc.warns) {
				t.Errorf("warned %q, want %q", all, tc.warns)
			}
		})
	}
}

// One row is one thing that breaks. It fails with its words and the address, and other conversations go on.
func TestWebsocketBreaks(t *testing.T) {
	after := func(do func(ctx context.Context, c *websocket.Conn)) func(context.Context, *websocket.Conn,
		*http.Request) {
		return func(ctx context.Context, c *websocket.Conn, _ *http.Request) {
			if _, _, err := c.Read(ctx); err == nil {
				do(ctx, c)
				<-ctx.Done()
			}
		}
	}
	for says, do := range map[string]func(ctx context.Context, c *websocket.Conn){
		"no answer within 50ms": func(context.Context, *websocket.Conn) {},
		"broke off: closed with 1001, bye": func(_ context.Context, c *websocket.Conn) {
			_ = c.Close(websocket.StatusGoingAway, "bye")
		},
		"broke off": func(_ context.Context, c *websocket.Conn) { _ = c.CloseNow() },
		"larger than 1 KB": func(ctx context.Context, c *websocket.Conn) {
			write(ctx, c, `{"x": "`+strings.Repeat("x", 2000)+`"}`)
		},
		"is larger than 1 KB": func(ctx context.Context, c *websocket.Conn) {
			write(ctx, c,
				strings.Split(strings.Repeat(`{"noise": "0123456789012345678901234567890123456789"}|`, 40), "|")...)
		},
		"UTF-8": func(ctx context.Context, c *websocket.Conn) {
			_ = c.Write(ctx, websocket.MessageBinary, []byte("\xff\xfe"))
		},
		"the agent reports an error: out of money": func(ctx context.Context, c *websocket.Conn) {
			write(ctx, c, `{"error": {"message": "out of money"}}`)
		},
	} {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			address, _ := socketAgent(t, after(do))
			timeout := "60s"
			if strings.HasPrefix(says, "no answer") {
				timeout = "50ms"
			}
			x := opened(t, wireParts(t), `{url: "`+address+`/p?key=hush", max_bytes: 1024, timeout: `+timeout+
				`, answer: {text: $.reply, error: $.error}}`)
			_, err := held(t, x, "c", "a")
			if err == nil || !strings.Contains(err.Error(), says) || !strings.HasPrefix(err.Error(), address+"/p: ") ||
				strings.Contains(err.Error(), "hush") {
				t.Errorf("%v, want %q", err, says)
			}
			if timedOut := errors.Is(err, context.DeadlineExceeded); timedOut != (timeout == "50ms") {
				t.Errorf("%s: a time-out: %v", says, timedOut)
			}
		})
	}
}

func TestWebsocketRefused(t *testing.T) {
	for says, serve := range map[string]http.HandlerFunc{
		"answered 302 Found: it redirects to elsewhere.example/x, and a redirect is not followed": func(
			w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://elsewhere.example/x?key=hush", http.StatusFound)
		},
		"answered 403 Forbidden: not you": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`{"error": {"message": "not you"}}`))
		},
		"answered 200 OK: the answer is an HTML page": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("<!doctype html><p>hi"))
		},
		"answered 504 Gateway Timeout": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusGatewayTimeout)
		},
	} {
		server := httptest.NewServer(serve)
		x := opened(t, wireParts(t), `{kind: websocket, url: "ws`+strings.TrimPrefix(server.URL, "http")+`"}`)
		_, err := held(t, x, "c", "a")
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "hush") ||
			errors.Is(err, context.DeadlineExceeded) != strings.Contains(says, "504") {
			t.Errorf("%v, want %q", err, says)
		}
		server.Close()
	}
	x := opened(t, wireParts(t), `{url: "ws://127.0.0.1:1/?key=hush"}`)
	if _, err := held(t, x, "c", "a"); err == nil || !strings.Contains(err.Error(), "cannot be reached") ||
		strings.Contains(err.Error(), "hush") {
		t.Error(err)
	}
}

// A handshake is tried again when it cannot have been taken.
func TestWebsocketRetries(t *testing.T) {
	var tried atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if tried.Add(1) < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		if c, err := websocket.Accept(w, r, nil); err == nil {
			echo(new(atomic.Int32))(r.Context(), c, r)
		}
	}))
	defer server.Close()
	p := wireParts(t)
	p.Retries = new(2)
	if replies, err := held(t, opened(t, p, `{url: "ws`+strings.TrimPrefix(server.URL, "http")+`"}`),
		"c", "a"); err != nil || replies[0].Text != "you said a" {
		t.Errorf("%+v, %v", replies, err)
	}
}

// An agent to which there is no connection is not asked for by every conversation of a run.
func TestWebsocketFailsFast(t *testing.T) {
	x := opened(t, wireParts(t), `{url: "ws://127.0.0.1:1/chat"}`)
	for i := range 6 {
		_, err := held(t, x, "c", "a")
		want := "cannot be reached"
		if i == 5 {
			want = "was unreachable 5 times in a row, so it is not asked for now"
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d: %v, want %q", i, err, want)
		}
	}
}

// 50 conversations by 20 workers: each has one connection of its own.
func TestWebsocketNeverMixes(t *testing.T) {
	address, _ := socketAgent(t, echo(new(atomic.Int32)))
	x := opened(t, wireParts(t), `{url: "`+address+`", answer: {text: $.reply, state: $.on}}`)
	neverMixes(t, x, func(message string, r chat.Reply) (string, bool) {
		return string(r.State), r.Text == "you said "+message
	})
}

// neverMixes holds 50 conversations with 20 workers. A reply is right, and who names the one who answered: another one
// in each conversation, or none.
func neverMixes(t *testing.T, x runner.Target, right func(message string, r chat.Reply) (who string, ok bool)) {
	t.Helper()
	jobs := make(chan int)
	var answerers sync.Map
	var all sync.WaitGroup
	hold := func(i int) {
		messages := []string{fmt.Sprintf("%d-a", i), fmt.Sprintf("%d-b", i), fmt.Sprintf("%d-c", i)}
		replies, err := held(t, x, fmt.Sprint("c", i), messages...)
		if err != nil {
			t.Error(err)
			return
		}
		for n, r := range replies {
			who, ok := right(messages[n], r)
			if other, taken := answerers.LoadOrStore(who, i); !ok || who != "" && taken && other != i {
				t.Errorf("%s was answered with %q by %s, who answered %v", messages[n], r.Text, who, other)
			}
		}
	}
	for range 20 {
		all.Go(func() {
			for i := range jobs {
				hold(i)
			}
		})
	}
	for i := range 50 {
		jobs <- i
	}
	close(jobs)
	all.Wait()
}

// Every fault of a configuration is found at once.
func TestWebsocketFaults(t *testing.T) {
	_, _, err := load(t, Kinds(), `targets:
  a: {kind: websocket}
  b: {url: "ws://", body: "{{mesage}}", headers: {"X Y": 1}, answer: "$.[", open: {bdy: 1}, session: {path: $.id}}
  c: {kind: websocket, url: "http://x", urll: 1, with: 7, stream: csv, timeout: -1s, max_bytes: 0}
`)
	for _, want := range []string{
		":2:", "a websocket target needs an address", ":3:", `unknown placeholder {{ mesage }}`,
		"is no name of a header", "is not a JSONPath", `unknown key "bdy"`, "the session id is sent back nowhere",
		"no such address", `unknown key "urll"`, "expected a mapping", `"csv"`, "timeout", "max_bytes",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nlacks %q", err, want)
		}
	}
}
