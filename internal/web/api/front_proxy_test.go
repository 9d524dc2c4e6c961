package api

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/httpclient"
	"github.com/rehearse-dev/rehearse/internal/fleet/access"
)

// hiding returns a proxy that rewrites Host and adds no header, as nginx does by default.
func hiding(to *url.URL) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }}
}

// A proxy on this machine stands between a server and everybody else. Its headers tell; without them only a token does,
// and it is asked for.
func TestBehindAProxy(t *testing.T) {
	inside := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "in") })
	plain := httputil.NewSingleHostReverseProxy // adds X-Forwarded-For
	for name, c := range map[string]struct {
		proxy      func(*url.URL) *httputil.ReverseProxy
		configured string
		trust      bool
		sent       string
		status     int
	}{
		"no token is known":             {proxy: plain, status: 403},
		"a token is known":              {proxy: plain, configured: "secret", status: 401},
		"it is sent":                    {proxy: plain, configured: "secret", sent: "secret", status: 200},
		"loopback is trusted":           {proxy: plain, configured: "secret", trust: true, status: 401},
		"hiding, a token is known":      {proxy: hiding, configured: "secret", status: 401},
		"hiding, it is sent":            {proxy: hiding, configured: "secret", sent: "secret", status: 200},
		"hiding, a wrong one":           {proxy: hiding, configured: "secret", sent: "other", status: 401},
		"hiding, wrong, none is known":  {proxy: hiding, sent: "other", status: 401},
		"hiding, a wrong one, trusting": {proxy: hiding, configured: "secret", trust: true, sent: "other", status: 401},
	} {
		server := httptest.NewServer(Front(inside, FrontConfig{
			Access: access.New(access.Config{Token: c.configured}), TrustLoopback: c.trust,
		}))
		to, err := url.Parse(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		transport := httpclient.Transport()
		behind := c.proxy(to)
		behind.Transport = transport
		proxy := httptest.NewServer(behind)
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, proxy.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		if c.sent != "" {
			request.Header.Set("Authorization", "Bearer "+c.sent)
		}
		client := &http.Client{Transport: transport}
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != c.status {
			t.Errorf("%s: %d, want %d", name, response.StatusCode, c.status)
		}
		transport.CloseIdleConnections()
		proxy.Close()
		server.Close()
	}
}

// TestVisitorsBehindAProxy checks that visitors' rules apply to whatever a proxy on this machine forwards, also where
// the proxy adds no header, and that the log names the shared address once.
func TestVisitorsBehindAProxy(t *testing.T) {
	const other = "b" + strongSession
	for name, c := range map[string]struct {
		proxy      func(*url.URL) *httputil.ReverseProxy
		configured string
		trust      bool
		weak       int // the status of a weak id
		closed     int // the status of what is not public
		warned     int
	}{
		"hiding":                  {hiding, "", false, 400, 403, 1},
		"hiding, a token":         {hiding, "secret", false, 400, 401, 1},
		"plain":                   {httputil.NewSingleHostReverseProxy, "", false, 400, 403, 1},
		"plain, loopback trusted": {httputil.NewSingleHostReverseProxy, "", true, 400, 403, 1},
		"hiding, trusted":         {hiding, "", true, 200, 404, 0}, // which is what --trust-loopback allows
	} {
		t.Run(name, func(t *testing.T) {
			bot := &fakeBot{}
			front := FrontConfig{Access: access.New(access.Config{Token: c.configured}), TrustLoopback: c.trust}
			d := openChatsBehind(t, front, bot, func(c *ChatsConfig) { c.Public = true })
			to, err := url.Parse(d.url)
			if err != nil {
				t.Fatal(err)
			}
			behind := c.proxy(to)
			behind.Transport = d.client.Transport
			proxy := httptest.NewServer(behind)
			defer proxy.Close()
			d.url = proxy.URL
			for _, one := range []struct {
				method, path, body string
				status             int
			}{
				{"POST", chatPath, saying("s1", "hi"), c.weak},
				{"POST", chatPath, saying(strongSession, "hi"), 200},
				{"POST", chatPath, saying(strongSession, "hi"), 200},
				{"POST", chatPath, saying(other, "hi"), 200},
				{"POST", chatPath, saying(strongSession, "hi"), 200},
				{
					"POST", chatPath + "/acme.example/s1/feedback", `{"turn": 1, "rating": "up"}`,
					map[int]int{400: 400, 200: 204}[c.weak],
				},
				{"DELETE", chatPath + "/acme.example/s1", "", map[int]int{400: 400, 200: 204}[c.weak]},
				{"DELETE", chatPath + "/acme.example/" + strongSession, "", 204},
				{"GET", chatPath + "/acme.example/" + strongSession + "/state", "", c.closed},
				{"GET", "/api/v1/runs", "", c.closed},
			} {
				if response, body := d.do(one.method, one.path, one.body); response.StatusCode != one.status {
					t.Errorf("%s %s: %d, want %d: %s", one.method, one.path, response.StatusCode, one.status, body)
				}
			}
			for _, r := range bot.requests() {
				if r.Visitor != (c.weak == 400) {
					t.Errorf("%s: visitor %v", r.Session, r.Visitor)
				}
			}
			if n := strings.Count(d.log.String(), "all visitors share one loopback address"); n != c.warned {
				t.Errorf("%d warnings: %s", n, d.log)
			}
		})
	}
}
