package target

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/coder/websocket"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// handshakes serves WebSockets whose handshake has some headers. Each message is answered with its own text.
func handshakes(t *testing.T, headers func(r *http.Request) http.Header) (address string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		maps.Copy(w.Header(), headers(r))
		c, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
		if err != nil {
			return
		}
		defer c.CloseNow()
		for {
			_, data, err := c.Read(r.Context())
			if err != nil {
				return
			}
			said, _ := json.Marshal(map[string]string{"reply": string(data)})
			write(r.Context(), c, string(said))
		}
	}))
	t.Cleanup(server.Close)
	return "ws" + strings.TrimPrefix(server.URL, "http")
}

// An agent may give its id of the conversation in the handshake. It is sent back in the body, and belongs to that
// conversation only.
func TestWebsocketSessions(t *testing.T) {
	var n atomic.Int32
	address := handshakes(t, func(*http.Request) http.Header {
		id := fmt.Sprint("s", n.Add(1))
		return http.Header{"X-Session": {id}, "Set-Cookie": {"other=o", "sid=c" + id + "; Path=/; HttpOnly"}}
	})
	for yaml, want := range map[string]string{
		`session: {header: x-session}`:                                    `{"message":"a","session_id":"sN"}`,
		`session: {cookie: sid}`:                                          `{"message":"a","session_id":"csN"}`,
		`session: {header: X-Session}, body: {m: "{{message}}"}`:          `{"m":"a"}`,
		`session: {cookie: sid, update: every}, body: 'x {{session_id}}'`: `x csN`,
		`session: {header: X-None}`:                                       `no session id in the header X-None`,
		`session: {cookie: none}`:                                         `no session id in the cookie none`,
		`session: {path: $.id}`:                                           `no session id at $.id`,
		`body: {s: "{{session_id}}", m: "{{message}}"}`:                   `{"s":"c","m":"a"}`,
	} {
		x := opened(t, wireParts(t), `{url: "`+address+`", answer: $.reply, `+yaml+`}`)
		for range 2 {
			before := n.Load() + 1
			replies, err := held(t, x, "c", "a")
			got := fmt.Sprint(err)
			if err == nil {
				got = replies[0].Text
			}
			if !strings.Contains(got, strings.ReplaceAll(want, "sN", fmt.Sprint("s", before))) ||
				err != nil && !strings.HasPrefix(got, address+": ") {
				t.Errorf("%s: %s, want %s", yaml, got, want)
			}
		}
	}
}

// With `update: every`, each answer gives an id.
func TestWebsocketSessionEveryAnswer(t *testing.T) {
	address, _ := socketAgent(t, func(ctx context.Context, c *websocket.Conn, _ *http.Request) {
		for i := 1; ; i++ {
			_, data, err := c.Read(ctx)
			if err != nil {
				return
			}
			id := fmt.Sprintf(`, "id": "i%d"`, i)
			if i == 3 {
				id = ""
			}
			write(ctx, c, fmt.Sprintf(`{"reply": %q%s}`, data, id))
		}
	})
	x := opened(t, wireParts(t), `{url: "`+address+
		`", answer: $.reply, body: {s: "{{session_id}}"}, session: {path: $.id, update: every}}`)
	replies, err := held(t, x, "c", "a", "b", "c")
	if len(replies) != 2 || replies[0].Text != `{}` || replies[1].Text != `{"s":"i1"}` || err == nil ||
		!strings.Contains(err.Error(), "no session id at $.id") {
		t.Errorf("%+v, %v", replies, err)
	}
}

// Cookies of one attempt of the handshake come back with the next one, and in no other conversation.
func TestWebsocketCookies(t *testing.T) {
	for yaml, want := range map[string]string{"cookies: true": "k=1", "cookies: false": ""} {
		var tried atomic.Int32
		seen := make(chan string, 9)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			seen <- r.Header.Get("Cookie")
			if tried.Add(1)%2 == 1 {
				http.SetCookie(w, &http.Cookie{Name: "k", Value: "1", Path: "/"})
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			if c, err := websocket.Accept(w, r, nil); err == nil {
				echo(new(atomic.Int32))(r.Context(), c, r)
			}
		}))
		p := wireParts(t)
		p.Retries = new(1)
		x := opened(t, p, `{url: "ws`+strings.TrimPrefix(server.URL, "http")+`", `+yaml+`}`)
		for range 2 {
			if _, err := held(t, x, "c", "a"); err != nil {
				t.Error(err)
			}
			if first, second := <-seen, <-seen; first != "" || second != want {
				t.Errorf("%s: the handshakes had the cookies %q and %q", yaml, first, second)
			}
		}
		server.Close()
	}
}

// The headers of a handshake are those of a request: defaults that can be taken away, the host, the origin.
func TestWebsocketHeaders(t *testing.T) {
	seen := make(chan string, 1)
	address := handshakes(t, func(r *http.Request) http.Header {
		seen <- fmt.Sprint(r.Host, " ", r.Header.Get("Origin"), " ", r.Header.Get("X-Conversation-Id"), " ",
			r.Header.Get("User-Agent"), " ", r.Header["X-Sid"])
		return nil
	})
	for yaml, want := range map[string]string{
		`{}`: strings.TrimPrefix(address, "ws://") + "  c rehearse []",
		`{Host: agent.example, Origin: "https://a.example", X-Conversation-Id: null, user-agent: null}`: "agent.example https://a.example   []",
		`{User-Agent: me, X-Sid: "{{session_id}}", host: h}`:                                            "h  c me []",
	} {
		x := opened(t, wireParts(t), `{url: "`+address+`", session: {path: $.reply}, headers: `+yaml+`}`)
		_, err := held(t, x, "c", "a")
		if got := <-seen; got != want || err != nil {
			t.Errorf("%s: %q, %v, want %q", yaml, got, err, want)
		}
	}
}

// A recording has the id that the agent gave in the handshake, and no headers.
func TestWebsocketSessionPlayed(t *testing.T) {
	address := handshakes(t, func(*http.Request) http.Header { return http.Header{"X-Session": {"s-1"}} })
	var answered []string
	p := wireParts(t)
	p.Recorded = func(_ string, m llm.Model) llm.Model { return noting{m, &answered} }
	x := opened(t, p, `{url: "`+address+`/{{test_id}}?k=v", headers: {A: "{{conversation_id}}", K: secret}, session: {header: X-Session}, open: {body: {hi: "{{trial}}"}}}`)
	s, err := x.Open(t.Context(), runner.Opening{Test: &suite.Test{ID: "t"}, ConversationID: "c"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if got := answered[len(answered)-1]; !strings.Contains(got, `"session":"s-1"`) || strings.Contains(got, "secret") {
		t.Errorf("the recording has %s", got)
	}
}

// noting keeps what a model answers.
type noting struct {
	llm.Model
	answered *[]string
}

// Generate asks the model.
func (n noting) Generate(ctx context.Context, r llm.Request) (chat.Reply, error) {
	reply, err := n.Model.Generate(ctx, r)
	*n.answered = append(*n.answered, reply.Text)
	return reply, err
}

// What decides the replies of a WebSocket or a program is its definition; limits and prices are not.
func TestDefinitionsOfWires(t *testing.T) {
	define := func(yaml string) string {
		f, _, err := load(t, Kinds(), "targets: {a: "+yaml+"}")
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(f.Targets["a"])
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	for _, kind := range []string{`url: "ws://x"`, `kind: command, command: a, cwd: /x`} {
		plain := define(`{` + kind +
			`, with: {m: one}, body: {m: "{{message}}", n: "{{with.m}}", s: "{{session_id}}"}}`)
		if same := define(`{` + kind + `, with: {m: one}, body: {m: "{{message}}", n: "{{with.m}}", s: "{{session_id}}"}, concurrency: 2, requests_per_minute: 9, input_price: 1, output_price: 2}`); same != plain {
			t.Errorf("limits are part of %s", same)
		}
		differences := []string{
			`answer: $.a`, `stream: {end: {data: x}}`, `session: {path: $.id}`, `timeout: 3s`, `max_bytes: 9`,
		}
		if strings.Contains(kind, "url") {
			differences = append(differences, `headers: {A: b}`, `subprotocols: [a]`, `cookies: false`,
				`open: {body: hi}`, `open: {wait: $.a}`, `close: {body: x}`, `session: {header: A}`)
		}
		for _, one := range differences {
			if define(`{`+kind+`, with: {m: one}, body: {m: "{{message}}", n: "{{with.m}}", s: "{{session_id}}"}, `+one+
				`}`) == plain {
				t.Errorf("%s: %s makes no difference", kind, one)
			}
		}
		if define(`{`+kind+
			`, with: {m: two}, body: {m: "{{message}}", n: "{{with.m}}", s: "{{session_id}}"}}`) == plain {
			t.Errorf("%s: a value of with makes no difference", kind)
		}
	}
}
