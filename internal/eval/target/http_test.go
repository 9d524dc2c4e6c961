package target

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/httpclient"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/eval/target/targettest"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// httpParts are parts without a recording. Retries and the time of a reply are short.
func httpParts() Parts {
	return Parts{
		Client: httpclient.Client(nil), Recorded: func(_ string, m llm.Model) llm.Model { return m },
		Limited: llm.NewLimits().Limit, Retries: new(1),
	}
}

// openHTTP opens the target agent of a configuration, in which URL stands for an address.
func openHTTP(t *testing.T, yaml, url string, p Parts) runner.Target {
	t.Helper()
	f, _, err := load(t, Kinds(), "targets:\n  agent: "+strings.ReplaceAll(yaml, "URL", url))
	if err != nil {
		t.Fatal(err)
	}
	opened, err := Open(f.Targets["agent"], p)
	if err != nil {
		t.Fatal(err)
	}
	return opened
}

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	web := httptest.NewServer(h)
	t.Cleanup(web.Close)
	return web.URL
}

func converse(t *testing.T, opened runner.Target, o runner.Opening,
	messages ...string) (replies []chat.Reply, s runner.Session, err error) {
	t.Helper()
	if o.Test == nil {
		o.Test = &suite.Test{ID: "te"}
	}
	s, err = opened.Open(t.Context(), o)
	if err != nil {
		return nil, nil, err
	}
	for _, m := range messages {
		reply, err := s.Send(t.Context(), chat.Content{Text: m})
		if err != nil {
			return replies, s, err
		}
		replies = append(replies, reply)
	}
	return replies, s, nil
}

func TestHTTPContract(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		if strings.Contains(string(data), "fail") {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		_, _ = w.Write(data)
	})
	targettest.Run(t, openHTTP(t, `URL`, url, httpParts()))
}

// What is sent by default, and what an author changes of it.
func TestHTTPRequests(t *testing.T) {
	var seen string
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		seen = r.Method + " " + r.URL.RequestURI() + " " + string(data)
		for _, name := range []string{
			"Content-Type", "Accept", "X-Conversation-Id", "X-Own", "Authorization", "Traceparent",
		} {
			if v := r.Header.Get(name); v != "" {
				seen += "|" + name + "=" + v
			}
		}
		fmt.Fprint(w, "ok")
	})
	test := &suite.Test{ID: "t 1", Vars: map[string]any{"lang": "dé", "n": 2}, Input: []chat.Message{
		chat.NewMessage(chat.System, "S"), chat.NewMessage(chat.User, "a"), chat.NewMessage(chat.Assistant, "b"),
	}}
	for yaml, want := range map[string]string{
		`URL/chat`: `POST /chat {"message":"hi \"you\"","session_id":"C1"}|Content-Type=application/json`,
		`{url: URL/api/, path: chat, headers: {x-own: "{{vars.lang}} {{turn}}", Authorization: Bearer T}, body: {m: "{{message}}", n: "{{vars.n}}", t: "{{trial}}"}}`: `POST /api/chat {"m":"hi \"you\"","n":2,"t":3}|Content-Type=application/json|X-Own=d%C3%A9 1|Authorization=Bearer T`,
		`{url: "URL/{{vars.lang}}?k=1", method: get, query: {q: "{{message}}", id: "{{test_id}}"}, headers: {X-Conversation-Id: null, Accept: null}}`:                 `GET /d%C3%A9?k=1&q=hi%20%22you%22&id=t%201 `,
		`{url: URL, body: "say {{message}}"}`:       `POST / say hi "you"|Content-Type=text/plain; charset=utf-8`,
		`{url: URL, body: '{"m": [{{messages}}]}'}`: `POST / {"m":[[{"role":"system","content":"S"},{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"hi \"you\""}]]}|Content-Type=application/json`,
		`{url: URL, body: {m: "{{message}}", l: "{{history}}"}, headers: {content-type: application/x-www-form-urlencoded}}`: `POST / m=hi%20%22you%22&l=system%3A%20S%0Auser%3A%20a%0Aassistant%3A%20b|Content-Type=application/x-www-form-urlencoded`,
		`{url: URL, body: "m={{message}}", headers: {Content-Type: application/x-www-form-urlencoded}}`:                      `POST / m=hi%20%22you%22|Content-Type=application/x-www-form-urlencoded`,
		`{url: URL, body: {x: "{{with.a}}"}, with: {a: [1, "{{turn}}"]}}`:                                                    `POST / {"x":[1,1]}|Content-Type=application/json`,
		`{url: URL, preset: rasa}`: "",
	} {
		replies, _, err := converse(t, openHTTP(t, yaml, url, httpParts()),
			runner.Opening{Test: test, Trial: 3, ConversationID: "C1"}, `hi "you"`)
		if want == "" {
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", yaml, err)
			continue
		}
		got, trace, _ := strings.Cut(seen, "|Traceparent=00-")
		if !strings.HasPrefix(trace, replies[0].TraceID+"-") || len(trace) != 32+1+16+3 ||
			len(replies[0].TraceID) != 32 {
			t.Errorf("%s: trace %s, reply %s", yaml, trace, replies[0].TraceID)
		}
		got = strings.Replace(got, "|Accept=application/json, text/plain;q=0.9, */*;q=0.8", "", 1)
		got = strings.Replace(got, "|X-Conversation-Id=C1", "", 1)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", yaml, d)
		}
	}
}

// agentServer gives each conversation an id of its own and remembers what was said in it, by that id. It fails what
// does not fit together.
type agentServer struct {
	mu    sync.Mutex
	said  map[string][]string
	by    string
	count int
}

func (a *agentServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct{ Message, Session, ID string }
	_ = json.NewDecoder(r.Body).Decode(&body)
	id := body.Session
	switch a.by {
	case "header":
		id = r.Header.Get("X-Session")
	case "cookie":
		if c, err := r.Cookie("sid"); err == nil {
			id = c.Value
		}
	case "url":
		id = strings.Trim(r.URL.Path, "/")
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if id == "" {
		a.count++
		id = fmt.Sprintf("s/%d", a.count)
	}
	a.said[id] = append(a.said[id], body.Message)
	w.Header().Set("X-Session", id)
	http.SetCookie(w, &http.Cookie{Name: "sid", Value: id})
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{
		"reply": strings.Join(a.said[id], ","), "session": id, "xid": r.Header.Get("X-Conversation-Id"),
		"trace": r.Header.Get("Traceparent")[3:35],
	})
}

// Fifty conversations of twenty workers never mix, wherever the id of the conversation is.
func TestHTTPConversationsNeverMix(t *testing.T) {
	for by, yaml := range map[string]string{
		"body":   `{url: URL, body: {message: "{{message}}", session: "{{session_id}}"}, session: {path: $.session}}`,
		"header": `{url: URL, session: {header: X-Session}}`,
		"cookie": `{url: URL, session: {cookie: sid}}`,
		"own":    `{url: URL, cookies: false, body: {message: "{{message}}", session: "{{conversation_id}}"}}`,
		"jar":    `{url: URL}`,
	} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			server := &agentServer{said: map[string][]string{}, by: strings.Replace(by, "jar", "cookie", 1)}
			url := serve(t, server.ServeHTTP)
			yaml := strings.Replace(yaml, "{url:", "{answer: {text: $.reply, state: $, trace_id: $.trace}, url:", 1)
			opened := openHTTP(t, yaml, url, httpParts())
			work := make(chan int, 50)
			for i := range 50 {
				work <- i
			}
			close(work)
			var all sync.WaitGroup
			ids := sync.Map{}
			for range 20 {
				all.Go(func() {
					for i := range work {
						id := fmt.Sprintf("conv-%d", i)
						one, two := fmt.Sprintf("%d-one", i), fmt.Sprintf("%d-two", i)
						replies, s, err := converse(t, opened, runner.Opening{ConversationID: id}, one, two)
						if err != nil {
							t.Error(err)
							return
						}
						if replies[0].Text != one || replies[1].Text != one+","+two {
							t.Errorf("conversation %d hears %q, %q", i, replies[0].Text, replies[1].Text)
						}
						if !strings.Contains(string(replies[1].State), `"xid":"`+id+`"`) ||
							replies[0].TraceID != replies[1].TraceID {
							t.Errorf("conversation %d is called %s, %s, %s", i, replies[1].State, replies[0].TraceID,
								replies[1].TraceID)
						}
						known := s.(runner.Identified).SessionID()
						if _, twice := ids.LoadOrStore(known, i); twice || known == "" ||
							(by == "own" || by == "jar") != (known == id) {
							t.Errorf("the session id is %q", known)
						}
					}
				})
			}
			all.Wait()
		})
	}
}

// What opens a conversation comes first, with the greeting and the session id in its answer; what closes it comes once,
// also after a failure.
func TestHTTPOpenAndClose(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		mu.Lock()
		seen = append(seen, r.Method+" "+r.URL.EscapedPath()+" "+string(data)+" "+r.Header.Get("Authorization"))
		mu.Unlock()
		switch {
		case r.URL.Path == "/api/threads":
			fmt.Fprint(w, `{"id":"t/7","hello":"Welcome!"}`)
		case r.Method == http.MethodDelete:
			w.WriteHeader(http.StatusNotFound)
		case strings.Contains(string(data), "fail"):
			w.WriteHeader(http.StatusBadRequest)
		default:
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"reply":"yes"}`)
		}
	})
	const yaml = `
    url: URL/api
    path: /threads/{{session_id}}/runs
    headers: {Authorization: K}
    body: {m: "{{messages}}"}
    open: {path: threads, body: {}, session: {path: id}, text: $.hello}
    close: {path: "threads/{{session_id}}", method: DELETE}
`
	var warned []string
	p := httpParts()
	p.Warn = func(s string) { warned = append(warned, s) }
	opened := openHTTP(t, yaml, url, p)
	_, s, err := converse(t, opened, runner.Opening{Test: &suite.Test{
		ID: "a", Input: []chat.Message{chat.NewMessage(chat.System, "S")},
	}}, "hi", "fail")
	if err == nil || !strings.Contains(err.Error(), "400") {
		t.Errorf("got %v", err)
	}
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Error(err)
	}
	want := []string{
		"POST /api/threads {} K",
		`POST /api/threads/t%2F7/runs {"m":[{"role":"system","content":"S"},{"role":"assistant","content":"Welcome!"},{"role":"user","content":"hi"}]} K`,
		`POST /api/threads/t%2F7/runs {"m":[{"role":"system","content":"S"},{"role":"assistant","content":"Welcome!"},{"role":"user","content":"hi"},{"role":"assistant","content":"yes"},{"role":"user","content":"fail"}]} K`,
		"DELETE /api/threads/t%2F7  K",
	}
	if d := cmp.Diff(want, seen); d != "" {
		t.Error(d)
	}
	earlier := s.(runner.Historian).Earlier()
	if len(earlier) != 2 || earlier[1].Content.Text != "Welcome!" || earlier[1].Role != chat.Assistant {
		t.Errorf("before the first turn: %+v", earlier)
	}
	if len(warned) != 1 || !strings.Contains(warned[0], "could not be closed") || !strings.Contains(warned[0], "404") {
		t.Errorf("warnings: %q", warned)
	}
}

// A stream is heard of with its first text, whether configured or only announced.
func TestHTTPStream(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, piece := range []string{"Hel", "lo"} {
			fmt.Fprintf(w, "data: {\"delta\":%q}\n\n", piece)
			w.(http.Flusher).Flush()
			time.Sleep(20 * time.Millisecond)
		}
	})
	for _, yaml := range []string{"URL", "{url: URL, stream: {format: sse, text: $.delta}}"} {
		replies, _, err := converse(t, openHTTP(t, yaml, url, httpParts()), runner.Opening{}, "hi")
		if err != nil || replies[0].Text != "Hello" || replies[0].FirstText <= 0 ||
			replies[0].FirstText >= replies[0].Latency || !replies[0].Usage.Unknown {
			t.Errorf("%s: %+v, %v", yaml, replies, err)
		}
	}
}

func TestHTTPPrices(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"reply":"x","i":1000,"o":500,"c":0.25}`)
	})
	for yaml, want := range map[string]string{
		`URL`: "null",
		`{url: URL, answer: {usage: {input_tokens: i, output_tokens: o}}}`:                                               "null",
		`{url: URL, answer: {usage: {input_tokens: i, output_tokens: o}}, input_price: 2, output_price: 4}`:              "0.004",
		`{url: URL, answer: {usage: {input_tokens: i}}, input_price: 2, output_price: 4}`:                                "null",
		`{url: URL, answer: {cost_usd: c, usage: {input_tokens: i, output_tokens: o}}, input_price: 2, output_price: 4}`: "0.25",
	} {
		replies, _, err := converse(t, openHTTP(t, yaml, url, httpParts()), runner.Opening{}, "hi")
		if err != nil {
			t.Fatal(err)
		}
		if cost, _ := json.Marshal(replies[0].Cost); string(cost) != want {
			t.Errorf("%s: %s, want %s", yaml, cost, want)
		}
	}
}

// However many conversations there are, no more requests are under way at once than the target allows.
func TestHTTPConcurrency(t *testing.T) {
	var mu sync.Mutex
	now, most := 0, 0
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		now++
		most = max(most, now)
		mu.Unlock()
		time.Sleep(5 * time.Millisecond)
		mu.Lock()
		now--
		mu.Unlock()
		fmt.Fprint(w, "ok")
	})
	opened := openHTTP(t, "{url: URL, concurrency: 2}", url, httpParts())
	var all sync.WaitGroup
	for range 12 {
		all.Go(func() {
			if _, _, err := converse(t, opened, runner.Opening{}, "one", "two"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if most > 2 {
		t.Errorf("%d requests were under way at once, want 2", most)
	}
}

// The agent may end the conversation, and nobody is asked for what no reply was given.
func TestHTTPEnds(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"reply":"Goodbye","over":true,"why":"done"}`)
	})
	replies, _, err := converse(t, openHTTP(t, "{url: URL, answer: {end: $.over, finish_reason: $.why}}", url,
		httpParts()), runner.Opening{}, "bye")
	if err != nil || !replies[0].Ended || replies[0].FinishReason != "done" || !replies[0].Usage.Unknown ||
		!replies[0].Cost.Unknown {
		t.Errorf("%+v, %v", replies, err)
	}
}
