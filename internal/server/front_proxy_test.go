package server

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"

	"rehearse/internal/access"
	"rehearse/internal/outbound"
)

// A proxy on this machine stands between a server and everybody else. Its headers tell; without them only a token does, and it is asked for.
func TestBehindAProxy(t *testing.T) {
	inside := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "in") })
	plain := func(to *url.URL) *httputil.ReverseProxy { return httputil.NewSingleHostReverseProxy(to) } // adds X-Forwarded-For
	hiding := func(to *url.URL) *httputil.ReverseProxy {                                                // rewrites Host and adds nothing
		return &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }}
	}
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
		server := httptest.NewServer(Front(inside, FrontConfig{Access: access.New(access.Config{Token: c.configured}), TrustLoopback: c.trust}))
		to, err := url.Parse(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		transport := outbound.Transport()
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
