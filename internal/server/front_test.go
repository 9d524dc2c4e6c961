package server

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestFront(t *testing.T) {
	inside := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "in") })
	for name, c := range map[string]struct {
		token, peer, host string
		headers           []string
		status            int
	}{
		"here":                      {"", "127.0.0.1:5", "127.0.0.1:80", nil, 200},
		"here, token not needed":    {"secret", "127.0.0.1:5", "localhost:80", nil, 200},
		"here, wrong token":         {"secret", "127.0.0.1:5", "localhost:80", []string{"Authorization: Bearer x"}, 200},
		"here, IPv6":                {"", "[::1]:5", "[::1]:80", nil, 200},
		"here, IPv4 in IPv6":        {"", "[::ffff:127.0.0.1]:5", "127.0.0.1", nil, 200},
		"here, rebound name":        {"", "127.0.0.1:5", "evil.example:80", nil, 403},
		"here, through a proxy":     {"secret", "127.0.0.1:5", "127.0.0.1:80", []string{"X-Forwarded-For: 127.0.0.1"}, 401},
		"elsewhere":                 {"", "192.0.2.1:5", "127.0.0.1:80", nil, 403},
		"elsewhere, says it's here": {"secret", "192.0.2.1:5", "127.0.0.1:80", []string{"X-Forwarded-For: 127.0.0.1"}, 401},
		"elsewhere, token":          {"secret", "192.0.2.1:5", "any.example", []string{"Authorization: bearer secret"}, 200},
		"elsewhere, wrong token":    {"secret", "192.0.2.1:5", "any.example", []string{"Authorization: Bearer secret2"}, 401},
		"elsewhere, empty token":    {"", "192.0.2.1:5", "any.example", []string{"Authorization: Bearer "}, 403},
		"elsewhere, other scheme":   {"secret", "192.0.2.1:5", "any.example", []string{"Authorization: Basic secret"}, 401},
		"no address":                {"", "@", "localhost", nil, 403},
		"another site":              {"", "127.0.0.1:5", "127.0.0.1:80", []string{"Origin: https://evil.example"}, 403},
		"its own page":              {"", "127.0.0.1:5", "127.0.0.1:80", []string{"Origin: http://127.0.0.1:80"}, 200},
	} {
		r := httptest.NewRequest(http.MethodPost, "/internal/agent/test", strings.NewReader("{}"))
		r.RemoteAddr, r.Host = c.peer, c.host
		for _, header := range c.headers {
			key, value, _ := strings.Cut(header, ": ")
			r.Header.Set(key, value)
		}
		w := httptest.NewRecorder()
		Front(inside, FrontConfig{Token: c.token}).ServeHTTP(w, r)
		if w.Code != c.status {
			t.Errorf("%s: %d, want %d: %s", name, w.Code, c.status, w.Body)
		}
		if asks := w.Header().Get("WWW-Authenticate") != ""; asks != (c.status == 401) {
			t.Errorf("%s: WWW-Authenticate %q", name, w.Header().Get("WWW-Authenticate"))
		}
		if c.status != 200 && (strings.Contains(w.Body.String(), "secret") || decoded[Problem](t, w.Body.String()).Detail == "") {
			t.Errorf("%s: %s", name, w.Body)
		}
	}
}

func TestFrontHealth(t *testing.T) {
	w := httptest.NewRecorder()
	Front(http.NotFoundHandler(), FrontConfig{}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/healthz", nil))
	if w.Code != 200 || w.Body.String() != "ok\n" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestFrontSurvivesPanics(t *testing.T) {
	var log strings.Builder
	front := Front(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("fell over") }),
		FrontConfig{Log: slog.New(slog.NewTextHandler(&log, nil))})
	r := httptest.NewRequest(http.MethodGet, "http://localhost/x", nil)
	r.RemoteAddr = "127.0.0.1:1"
	w := httptest.NewRecorder()
	front.ServeHTTP(w, r)
	if p := decoded[Problem](t, w.Body.String()); w.Code != 500 || p.Code != "internal_error" || strings.Contains(w.Body.String(), "fell over") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if !strings.Contains(log.String(), "fell over") {
		t.Errorf("the log: %s", log.String())
	}
}

// TestHealth says so when the server cannot do its work, and not why.
func TestHealth(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want int
	}{{nil, http.StatusOK}, {errors.New("redis://10.0.0.7 is away"), http.StatusServiceUnavailable}} {
		w := httptest.NewRecorder()
		Front(http.NotFoundHandler(), FrontConfig{Healthy: func() error { return tc.err }}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/healthz", nil))
		if w.Code != tc.want || strings.Contains(w.Body.String(), "10.0.0.7") {
			t.Errorf("%v: %d %s", tc.err, w.Code, w.Body)
		}
	}
}
