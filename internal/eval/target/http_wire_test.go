package target

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/httpclient"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
)

// wired serves connections by hand: answer gets the number of the connection, that of the request on it, and the
// request. An empty answer closes the connection.
func wired(t *testing.T, answer func(connection, request int, r *http.Request) string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var done sync.WaitGroup
	t.Cleanup(func() { _ = l.Close(); done.Wait() })
	done.Go(func() {
		for connection := 1; ; connection++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			done.Go(func() {
				defer c.Close()
				b := bufio.NewReader(c)
				for n := 1; ; n++ {
					r, err := http.ReadRequest(b)
					if err != nil {
						return
					}
					_, _ = io.Copy(io.Discard, r.Body)
					said := answer(connection, n, r)
					if said == "" {
						return
					}
					_, _ = fmt.Fprintf(c,
						"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
						len(said), said)
				}
			})
		}
	})
	return "http://" + l.Addr().String()
}

// wiredParts are those of the program: connections are kept.
func wiredParts(t *testing.T) Parts {
	p := httpParts()
	transport := httpclient.Transport()
	t.Cleanup(transport.CloseIdleConnections)
	p.Client = httpclient.Client(transport)
	return p
}

// A message that may have been taken is said once, also where the library would send it again: by GET, or with a key of
// idempotency, on a connection that has served before.
func TestHTTPSaysAMessageOnce(t *testing.T) {
	for _, yaml := range []string{
		`{url: URL, method: GET, query: {m: "{{message}}"}}`, `{url: URL, headers: {Idempotency-Key: "{{turn}}"}}`,
		`{url: URL, method: OPTIONS}`, `URL`, `{url: URL, method: GET, body: {m: "{{message}}"}}`,
	} {
		var mu sync.Mutex
		asked := 0
		url := wired(t, func(_, n int, r *http.Request) string {
			mu.Lock()
			defer mu.Unlock()
			if asked++; n == 2 {
				return ""
			}
			if r.Method == http.MethodGet && !strings.Contains(yaml, "body") &&
				len(r.TransferEncoding)+int(r.ContentLength) > 0 {
				t.Errorf("a GET without a body has one of %d bytes %v", r.ContentLength, r.TransferEncoding)
			}
			return `{"reply":"yes"}`
		})
		_, s, err := converse(t, openHTTP(t, yaml, url, wiredParts(t)), runner.Opening{}, "one", "two")
		mu.Lock()
		if err == nil || !strings.Contains(err.Error(), "broke off") || asked != 2 {
			t.Errorf("%s: asked %d times, error %v", yaml, asked, err)
		}
		mu.Unlock()
		if s != nil {
			_ = s.Close()
		}
	}
}

// What a server keeps with a connection is of one conversation.
func TestHTTPConversationsHaveConnectionsOfTheirOwn(t *testing.T) {
	url := wired(t, func(_, n int, _ *http.Request) string { return fmt.Sprintf(`{"reply":"message %d"}`, n) })
	opened := openHTTP(t, `URL`, url, wiredParts(t))
	for range 3 {
		replies, s, err := converse(t, opened, runner.Opening{}, "one", "two")
		if err != nil || replies[0].Text != "message 1" || replies[1].Text != "message 2" {
			t.Errorf("replies %v, error %v", replies, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A request that would close a session whose id never came is not sent: without the id, its address is that of all
// sessions. Another one is sent.
func TestHTTPClosesNothingElse(t *testing.T) {
	for address, sent := range map[string]bool{
		`"threads/{{session_id}}"`: false, `threads, query: {id: "{{session_id}}"}`: true,
	} {
		var mu sync.Mutex
		var seen, warned []string
		url := serve(t, func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			seen = append(seen, r.Method+" "+r.RequestURI)
			mu.Unlock()
			w.WriteHeader(http.StatusForbidden)
		})
		p := httpParts()
		p.Warn = func(s string) { warned = append(warned, s) }
		yaml := `{url: URL, body: {s: "{{session_id}}"}, open: {path: threads, session: {path: id}}, close: {method: DELETE, path: ` + address + `}}`
		if _, _, err := converse(t, openHTTP(t, yaml, url, p), runner.Opening{}, "hi"); err == nil {
			t.Error("it is no error")
		}
		if got := strings.Join(seen, ", "); strings.Contains(got, "DELETE") != sent || len(warned) != 1 {
			t.Errorf("%s: asked %s, warned %q", address, got, warned)
		}
	}
}

// An address and a path may each have a query.
func TestHTTPJoinsQueries(t *testing.T) {
	var seen string
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		seen = r.RequestURI
		_, _ = io.WriteString(w, "yes")
	})
	if _, _, err := converse(t, openHTTP(t, `{url: "URL/api?k=1", path: "chat?x=2", query: {y: 3}}`, url, httpParts()),
		runner.Opening{}, "hi"); err != nil || seen != "/api/chat?x=2&k=1&y=3" {
		t.Errorf("asked %s, error %v", seen, err)
	}
}

// An empty body is none, and has no type.
func TestHTTPEmptyBody(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		_, _ = fmt.Fprintf(w, "%s %q %q", r.Method, data, r.Header["Content-Type"])
	})
	replies, _, err := converse(t, openHTTP(t, `{url: URL, query: {m: "{{message}}"}, body: ""}`, url, httpParts()),
		runner.Opening{}, "hi")
	if err != nil || replies[0].Text != `POST "" []` {
		t.Errorf("%v, error %v", replies, err)
	}
}

// An address that holds the user's message is cut in errors.
func TestHTTPShowsALongAddressInShort(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) })
	_, _, err := converse(t, openHTTP(t, `{url: "URL/{{message}}", method: GET}`, url, httpParts()), runner.Opening{},
		strings.Repeat("x", 10_000))
	if err == nil || len(err.Error()) > 600 || !strings.Contains(err.Error(), "400") {
		t.Errorf("%.1000v", err)
	}
}
