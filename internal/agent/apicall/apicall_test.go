package apicall

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
)

// shop is a server whose paths answer in the ways that there are.
func shop(t *testing.T) (address string, asked *atomic.Int32) {
	t.Helper()
	asked = &atomic.Int32{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		body, _ := io.ReadAll(r.Body)
		switch r.URL.Path {
		case "/echo":
			_, _ = io.WriteString(w, ` {"method":"`+r.Method+`","auth":"`+r.Header.Get("Authorization")+`","body":`+
				string(append(body, `""`[min(2, 2*len(body)):]...))+`} `)
		case "/redirect":
			http.Redirect(w, r, "/echo", http.StatusTemporaryRedirect)
		case "/missing":
			http.NotFound(w, r)
		case "/text":
			_, _ = io.WriteString(w, "hello")
		case "/nothing":
			w.WriteHeader(http.StatusNoContent)
		case "/large":
			_, _ = io.WriteString(w, `"`+strings.Repeat("x", 64<<10)+`"`)
		case "/slow":
			<-r.Context().Done()
		case "/broken":
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, `{"a":`)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, asked
}

func request(method, address string) flow.Request {
	return flow.Request{Method: method, URL: address, Body: []byte(`{"a":1}`), Timeout: 5 * time.Second}
}

func TestCall(t *testing.T) {
	address, asked := shop(t)
	c := New(Config{Hosts: []string{"127.0.0.1"}, Private: true, Secret: func(name string) string {
		return map[string]string{"KEY": "s3cret", "TWO": "a\nb"}[name]
	}})
	for path, want := range map[string]string{
		"POST /echo": `{"method":"POST","auth":"","body":{"a":1}}`, "GET /echo": `{"method":"GET","auth":"","body":""}`,
		"POST /redirect": "127.0.0.1 answered 307, and redirects are not followed",
		"POST /missing":  "127.0.0.1 answered 404", "POST /text": "the answer of 127.0.0.1 is no JSON",
		"GET /nothing": "the answer of 127.0.0.1 is no JSON",
		"POST /large":  "the answer of 127.0.0.1 is larger than 64 KB",
		"GET /broken":  "the answer of 127.0.0.1 broke off",
	} {
		method, path, _ := strings.Cut(path, " ")
		before := asked.Load()
		got, err := c.Call(t.Context(), request(method, address+path))
		text := string(got)
		if err != nil {
			text = err.Error()
		}
		if text != want || asked.Load() != before+1 {
			t.Errorf("%s %s: %.200s after %d requests, want %s", method, path, text, asked.Load()-before, want)
		}
	}
	for header, want := range map[string]string{
		"Bearer ${KEY}": `{"method":"POST","auth":"Bearer s3cret","body":{"a":1}}`,
		"${NONE}":       "the environment variable NONE is not set",
		"${TWO}":        "the environment variable TWO does not fit into a header",
		"$KEY":          `{"method":"POST","auth":"$KEY","body":{"a":1}}`,
	} {
		r := request("POST", address+"/echo")
		r.Headers = map[string]string{"Authorization": header}
		got, err := c.Call(t.Context(), r)
		text := string(got)
		if err != nil {
			text = err.Error()
		}
		if text != want {
			t.Errorf("%s: %s, want %s", header, text, want)
		}
	}
	for cause, want := range map[error]string{
		flow.ErrCallLimit:        "127.0.0.1 did not answer within 5s",
		context.DeadlineExceeded: "127.0.0.1 had not answered when the turn ended",
	} {
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Millisecond, cause) // the server never answers
		if _, err := c.Call(ctx, request("POST", address+"/slow")); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
		cancel()
	}
}

func TestAllowedHosts(t *testing.T) {
	for _, tc := range []struct {
		hosts []string
		url   string
		want  string
	}{
		{nil, "https://api.example.com/x", "host not allowed: api.example.com"},
		{[]string{"api.example.com"}, "https://API.example.com./x", ""},
		{[]string{"api.example.com"}, "http://api.example.com:8080/x", ""},
		{
			[]string{"api.example.com"}, "https://api.example.com.evil.test/x",
			"host not allowed: api.example.com.evil.test",
		},
		{[]string{"api.example.com"}, "https://evil.test/api.example.com", "host not allowed: evil.test"},
		{[]string{"api.example.com:443"}, "https://api.example.com/x", ""},
		{[]string{"api.example.com:443"}, "http://api.example.com/x", "host not allowed: api.example.com:80"},
		{[]string{"*.example.com"}, "https://a.b.example.com/x", ""},
		{[]string{"*.example.com"}, "https://example.com/x", "host not allowed: example.com"},
		{[]string{"*.example.com"}, "https://notexample.com/x", "host not allowed: notexample.com"},
		{[]string{"*.example.com:8443"}, "https://a.example.com:8443/x", ""},
		{[]string{"[::1]:80", "x"}, "http://[::1]/x", ""},
		{[]string{"::1"}, "http://[::1]:99/x", ""},
	} {
		u, err := url.Parse(tc.url)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := New(Config{Hosts: tc.hosts}).allowed(u); err != nil {
			got = err.Error()
		}
		if got != tc.want {
			t.Errorf("%v, %s: %q, want %q", tc.hosts, tc.url, got, tc.want)
		}
	}
}

// A host that is allowed is called only at public addresses, in whatever spelling it comes, unless private ones are
// allowed.
func TestPrivateAddresses(t *testing.T) {
	address, asked := shop(t)
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(address, "http://"))
	for _, host := range []string{
		"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0", "169.254.169.254", "10.0.0.1", "[fe80::1]",
		"[fd00::1]", "224.0.0.1",
	} {
		u, _ := url.Parse("http://" + host + ":" + port + "/echo")
		c := New(Config{Hosts: []string{u.Hostname()}})
		_, err := c.Call(t.Context(), request("POST", u.String()))
		if err == nil || !strings.HasPrefix(err.Error(), "host not allowed: the host ") || asked.Load() > 0 {
			t.Errorf("%s: %v, asked %d times", host, err, asked.Load())
		}
	}
}
