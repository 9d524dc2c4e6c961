package target

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/eval/runner"
)

// Every row of the table of what breaks, with its words. Another message after it is answered.
func TestHTTPBreaks(t *testing.T) {
	hijack := func(w http.ResponseWriter, head string) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		_, _ = io.WriteString(conn, head)
		_ = conn.Close()
	}
	answer := func(kind, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			_, _ = io.WriteString(w, body)
		}
	}
	status := func(code int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "http://elsewhere.example/x")
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body)
		}
	}
	const js = "application/json"
	for name, tc := range map[string]struct {
		yaml              string
		handler           http.HandlerFunc
		words             []string
		timeout           bool
		classifierRequest int
	}{
		"time-out": {
			`{url: URL, timeout: 50ms}`, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
			[]string{"no answer within 50ms"}, true, 1,
		},
		"idempotent time-out": {
			`{url: URL, timeout: 50ms, idempotent: true}`,
			func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, []string{"no answer within"}, true,
			2,
		},
		"slow body": {`{url: URL, timeout: 50ms}`, func(w http.ResponseWriter, r *http.Request) {
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, []string{"no answer within"}, true, 1},
		"redirect": {`URL`, status(307, ""), []string{"307", "redirect", "elsewhere.example"}, false, 1},
		"redirect within": {`URL`, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/login?key=hush")
			w.WriteHeader(302)
		}, []string{"302 Found: it redirects to http://127.0.0.1:", "/login, and"}, false, 1},
		"filtered": {
			`{url: URL, retries: 1}`, answer(js, `{"reply": "", "finish_reason": "content_filter"}`),
			[]string{"finish reason content_filter"}, false, 1,
		},
		"400": {
			`URL`, status(400, `{"error":{"message":"no such field"}}`), []string{"400", "no such field"}, false, 1,
		},
		"422":         {`URL`, status(422, `{"detail":[{"loc":["body","text"]}]}`), []string{"422", "text"}, false, 1},
		"500":         {`URL`, status(500, `boom`), []string{"500", "boom"}, false, 2},
		"504":         {`URL`, status(504, ``), []string{"504"}, true, 1},
		"204":         {`URL`, status(204, ``), []string{"empty answer"}, false, 1},
		"empty":       {`URL`, answer(js, ""), []string{"empty answer"}, false, 1},
		"page":        {`URL`, answer("text/html", "<p>"), []string{"HTML"}, false, 1},
		"like a page": {`URL`, answer(js, "<!doctype HTML>"), []string{"HTML"}, false, 1},
		"large": {
			`{url: URL, max_bytes: 10}`, answer(js, `{"reply":"0123456789"}`), []string{"larger than 10 bytes"}, false,
			1,
		},
		"not UTF-8": {`URL`, answer(js, "{\"reply\":\"\xff\"}"), []string{"UTF-8"}, false, 1},
		"broken body": {`URL`, func(w http.ResponseWriter, _ *http.Request) {
			hijack(w, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"reply\":")
		}, []string{"broke off"}, false, 1},
		"idempotent break": {`{url: URL, idempotent: true}`, func(w http.ResponseWriter, _ *http.Request) {
			hijack(w, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"reply\":")
		}, []string{"broke off"}, false, 2},
		"no answer at all": {
			`URL`, func(w http.ResponseWriter, _ *http.Request) { hijack(w, "") }, []string{"broke off"}, false, 1,
		},
		"broken stream": {
			`{url: URL, stream: {format: sse, text: $.d, end: {event: done}}}`,
			answer("text/event-stream", "data: {\"d\":\"x\"}\n\n"), []string{"broke off"}, false, 1,
		},
		"not JSON": {
			`{url: URL, answer: $.t}`, answer("text/plain", "Traceback: oops"), []string{"not JSON", "Traceback: oops"},
			false, 1,
		},
		"no reply": {
			`{url: URL, answer: $.t.u}`, answer(js, `{"b":1,"a":{}}`), []string{"no reply at $.t.u", "a, b"}, false, 1,
		},
		"own error": {
			`{url: URL, answer: {error: $.e}}`, answer(js, `{"e":"out of memory","reply":"x"}`),
			[]string{"out of memory"}, false, 1,
		},
		"stream error": {
			`{url: URL, stream: {format: sse, error: {path: $.m, event: error}}}`,
			answer("text/event-stream", "event: error\ndata: {\"m\":\"overloaded\"}\n\n"), []string{"overloaded"},
			false, 1,
		},
		"no session": {
			`{url: URL, session: {path: $.id}, body: {i: "{{session_id}}"}}`, answer(js, `{"reply":"x"}`),
			[]string{"no session id at $.id"}, false, 1,
		},
		"asks to wait long": {`{url: URL, retry_after_max: 2s}`, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "90")
			w.WriteHeader(429)
		}, []string{"429", "asks to wait 1m30s"}, false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			asked, well := 0, false
			url := serve(t, func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				asked++
				fine := well
				mu.Unlock()
				if _, _ = io.Copy(io.Discard, r.Body); fine {
					w.Header().Set("Content-Type", js)
					_, _ = io.WriteString(w, `{"t":{"u":"x"},"reply":"x","id":1}`)
					return
				}
				tc.handler(w, r)
			})
			opened := openHTTP(t, tc.yaml, url, httpParts())
			_, _, err := converse(t, opened, runner.Opening{}, "hello")
			if err == nil {
				t.Fatal("it is no error")
			}
			for _, words := range append(tc.words, url) {
				if !strings.Contains(err.Error(), words) {
					t.Errorf("%q lacks %q", err, words)
				}
			}
			mu.Lock()
			times := asked
			mu.Unlock()
			if errors.Is(err, context.DeadlineExceeded) != tc.timeout || times != tc.classifierRequest {
				t.Errorf("%v: time-out %v, asked %d times, want %d", err, errors.Is(err, context.DeadlineExceeded),
					times, tc.classifierRequest)
			}
			if tc.yaml != "URL" {
				return
			}
			mu.Lock()
			well = true
			mu.Unlock()
			if _, _, err := converse(t, opened, runner.Opening{}, "again"); err != nil {
				t.Errorf("the next conversation: %v", err)
			}
		})
	}
}

// An address where nobody is fails each message, and soon without being asked.
func TestHTTPDeadAddress(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + l.Addr().String()
	_ = l.Close()
	p := httpParts()
	p.Retries = new(0)
	opened := openHTTP(t, "URL", url, p)
	for i := range 8 {
		_, _, err := converse(t, opened, runner.Opening{}, "hello")
		if err == nil || !strings.Contains(err.Error(), url+" cannot be reached") ||
			(i > 4) != strings.Contains(err.Error(), "5 times in a row") {
			t.Errorf("%d: %v", i, err)
		}
	}
}

// A message that cannot have been taken is sent again, after the time that the agent asks for.
func TestHTTPRetry(t *testing.T) {
	asked := 0
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if asked++; asked == 1 {
			w.Header().Set("Retry-After", "0.05")
			w.WriteHeader(503)
			return
		}
		_, _ = io.Copy(w, r.Body)
	})
	replies, _, err := converse(t, openHTTP(t, "{url: URL, body: \"{{message}}\"}", url, httpParts()),
		runner.Opening{}, "hello")
	if err != nil || replies[0].Text != "hello" || replies[0].Attempts != 2 {
		t.Errorf("%+v, %v", replies, err)
	}
}

// An agent that streams forever, or without an end to its line, costs no more than its limit.
func TestHTTPHostileStreams(t *testing.T) {
	for name, piece := range map[string]string{
		"events": "data: {\"d\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}\n\n",
		"a line": "data: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
	} {
		url := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			chunk := []byte(strings.Repeat(piece, 1000))
			for range 1 << 30 / len(chunk) {
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		})
		_, _, err := converse(t, openHTTP(t, "{url: URL, max_bytes: 1048576}", url, httpParts()),
			runner.Opening{}, "hello")
		if err == nil || !strings.Contains(err.Error(), "larger than 1 MB") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFaultsOfHTTP(t *testing.T) {
	for yaml, want := range map[string]string{
		`{url: "http://x", bdy: {}}`:                        `unknown key "bdy" (did you mean "body"?)`,
		`{url: "http://x", body: {a: ["{{mesage}}"]}}`:      `targets.a.body.a[0]: unknown placeholder {{ mesage }}`,
		`{url: "http://x", headers: {A: "{{x}}"}}`:          `targets.a.headers.A: unknown placeholder`,
		`{url: "http://x/{{y}}"}`:                           `targets.a.url: unknown placeholder {{ y }}`,
		`{url: "http://x", query: {q: "{{z}}"}}`:            `targets.a.query.q: unknown placeholder`,
		`{url: "http://x", open: {path: a, body: "{{w}}"}}`: `targets.a.open.body: unknown placeholder`,
		`{url: "http://x", answer: "a["}`:                   `targets.a.answer: "a[" is not a JSONPath`,
		`{url: "ftp://x"}`:                                  "no http or https address",
		`{kind: http, body: {}}`: "an http target needs " +
			"an address",
		`{url: "http://x", session: {path: $.id}}`: "",
		`{url: "http://x", session: {path: $.id}, body: {m: "{{message}}"}}`: "targets.a.session: " +
			"the session id is sent back nowhere",
		`{url: "http://x", session: {header: H}, body: {m: "{{message}}"}}`: "",
		`{url: "http://x", cookies: false, session: {cookie: c}, body: x}`:  "sent back nowhere",
		`{url: "http://x", session: {path: $.id, header: H}}`: "a session id comes from " +
			"one place",
		`{url: "http://x", session: {path: $.id}, open: {path: a, session: {path: $.b}}}`: "both say where",
		`{url: "http://x", open: {body: a}}`:                                              "the request has no address",
		`{url: "http://x", close: {path: a, url: "http://y"}}`:                            "path and url both",
		`{url: "http://x", preset: opnai}`:                                                `there is no preset called "opnai" (did you mean "openai"?)`,
		`{url: "http://x", preset: openai}`: "there is no value for {{ " +
			"with.model }}",
		`{url: "http://x", method: "P ST"}`:      "no method",
		`{url: "http://x", headers: {"a b": x}}`: "no name of a header",
		`{url: "http://x", query: x}`:            "expected a mapping",
		`{url: "http://x", stream: {format: sse, texts: $.a}}`: "targets.a.stream.texts: " +
			"unknown key",
		`{url: "http://x", body: "{{mcp_url}}"}`:       "needs a server of tools",
		`{url: "http://x", complete_when: {jugde: x}}`: "targets.a.complete_when.jugde: unknown key",
	} {
		_, _, err := load(t, Kinds(), "targets:\n  a: "+yaml)
		if want == "" {
			if err != nil {
				t.Errorf("%s: %v", yaml, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "rehearse.yaml:") {
			t.Errorf("%s: %v, want %s", yaml, err, want)
		}
	}
}
