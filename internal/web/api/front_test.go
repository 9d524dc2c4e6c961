package api

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/fleet/access"
	"github.com/rehearse-dev/rehearse/internal/run/store"
)

// tokenStore has one token by hash, or fails.
type tokenStore struct {
	tokens map[string]store.Token
	err    error
}

func (s *tokenStore) TokenHashes(context.Context) (map[[sha256.Size]byte]store.Token, error) {
	found := map[[sha256.Size]byte]store.Token{}
	for token, t := range s.tokens {
		found[store.HashToken(token)] = t
	}
	return found, s.err
}

func TestFront(t *testing.T) {
	inside := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "in") })
	past := time.Now().Add(-time.Second)
	none, inEnvironment := access.Config{}, access.Config{Token: "secret"}
	inStore := access.Config{Store: &tokenStore{tokens: map[string]store.Token{"secret": {Name: "a"}}}}
	expired := access.Config{Store: &tokenStore{tokens: map[string]store.Token{
		"secret": {Name: "a", ExpiresAt: &past},
	}}}
	empty := access.Config{Store: &tokenStore{}}
	away := access.Config{Store: &tokenStore{err: errors.New("postgres://secret@10.0.0.7 is away")}}
	awayWithToken := access.Config{Store: away.Store, Token: "secret"}
	const here, elsewhere = "127.0.0.1:5", "192.0.2.1:5"
	right, wrong := "Authorization: Bearer secret", "Authorization: Bearer secret2"
	for name, c := range map[string]struct {
		access     access.Config
		peer, host string
		headers    []string
		// The statuses without and with TrustLoopback.
		status, trusting int
	}{
		"here":                       {none, here, "127.0.0.1:80", nil, 200, 200},
		"here, empty store":          {empty, here, "127.0.0.1:80", nil, 200, 200},
		"here, no token":             {inEnvironment, here, "localhost:80", nil, 401, 200},
		"here, no token, in store":   {inStore, here, "localhost:80", nil, 401, 200},
		"here, expired is asked for": {expired, here, "localhost:80", nil, 401, 200},
		"here, token":                {inEnvironment, here, "localhost:80", []string{right}, 200, 200},
		"here, token in store":       {inStore, here, "localhost:80", []string{right}, 200, 200},
		"here, wrong token":          {inEnvironment, here, "localhost:80", []string{wrong}, 401, 401},
		"here, wrong, none is known": {none, here, "localhost:80", []string{wrong}, 401, 401},
		"here, expired token":        {expired, here, "localhost:80", []string{right}, 401, 401},
		"here, empty token":          {none, here, "localhost:80", []string{"Authorization: Bearer "}, 401, 401},
		"here, two tokens":           {inEnvironment, here, "localhost:80", []string{right, wrong}, 401, 401},
		"here, other scheme":         {none, here, "localhost:80", []string{"Authorization: Basic eDp5"}, 200, 200},
		"here, IPv6":                 {none, "[::1]:5", "[::1]:80", nil, 200, 200},
		"here, IPv4 in IPv6":         {none, "[::ffff:127.0.0.1]:5", "127.0.0.1", nil, 200, 200},
		"here, rebound name":         {none, here, "evil.example:80", nil, 403, 403},
		"here, name below localhost": {none, here, "evil.localhost:80", nil, 403, 403},
		"here, no name":              {none, here, "", nil, 403, 403},
		"here, through a proxy": {
			inEnvironment, here, "127.0.0.1:80", []string{"X-Forwarded-For: 127.0.0.1"}, 401, 401,
		},
		"elsewhere": {none, elsewhere, "127.0.0.1:80", nil, 403, 403},
		"elsewhere, says it's here": {
			inEnvironment, elsewhere, "127.0.0.1:80", []string{"X-Forwarded-For: 127.0.0.1"}, 401, 401,
		},
		"elsewhere, token": {
			inEnvironment, elsewhere, "any.example", []string{"Authorization: bearer secret"}, 200, 200,
		},
		"elsewhere, token in store": {inStore, elsewhere, "any.example", []string{right}, 200, 200},
		"elsewhere, wrong token":    {inEnvironment, elsewhere, "any.example", []string{wrong}, 401, 401},
		"elsewhere, wrong in store": {inStore, elsewhere, "any.example", []string{wrong}, 401, 401},
		"elsewhere, no token":       {inStore, elsewhere, "any.example", nil, 401, 401},
		"elsewhere, empty token":    {none, elsewhere, "any.example", []string{"Authorization: Bearer "}, 401, 401},
		"elsewhere, other scheme": {
			inEnvironment, elsewhere, "any.example", []string{"Authorization: Basic secret"}, 401, 401,
		},
		"no address":              {none, "@", "localhost", nil, 403, 403},
		"another site":            {none, here, "127.0.0.1:80", []string{"Origin: https://evil.example"}, 403, 403},
		"its own page":            {none, here, "127.0.0.1:80", []string{"Origin: http://127.0.0.1:80"}, 200, 200},
		"away, here":              {away, here, "127.0.0.1:80", nil, 503, 200},
		"away, elsewhere":         {away, elsewhere, "any.example", nil, 503, 503},
		"away, a token":           {away, elsewhere, "any.example", []string{right}, 503, 503},
		"away, the environment's": {awayWithToken, elsewhere, "any.example", []string{right}, 200, 200},
		"away, another":           {awayWithToken, elsewhere, "any.example", []string{wrong}, 503, 503},
		"away, none":              {awayWithToken, elsewhere, "any.example", nil, 401, 401},
	} {
		for _, trust := range []bool{false, true} {
			r := httptest.NewRequest(http.MethodPost, "/internal/agent/test", strings.NewReader("{}"))
			r.RemoteAddr, r.Host = c.peer, c.host
			for _, header := range c.headers {
				key, value, _ := strings.Cut(header, ": ")
				r.Header.Add(key, value)
			}
			w := httptest.NewRecorder()
			Front(inside, FrontConfig{Access: access.New(c.access), TrustLoopback: trust}).ServeHTTP(w, r)
			want := c.status
			if trust {
				want = c.trusting
			}
			if w.Code != want {
				t.Errorf("%s, trust %v: %d, want %d: %s", name, trust, w.Code, want, w.Body)
			}
			if asks := w.Header().Get("WWW-Authenticate") != ""; asks != (want == 401) {
				t.Errorf("%s: WWW-Authenticate %q", name, w.Header().Get("WWW-Authenticate"))
			}
			if want != 200 && (strings.Contains(w.Body.String(), "secret") ||
				decoded[Problem](t, w.Body.String()).Detail == "") {
				t.Errorf("%s: %s", name, w.Body)
			}
		}
	}
}

// Each header of a proxy means that a request is from elsewhere, whatever its value.
func TestFrontForwarded(t *testing.T) {
	for name, elsewhere := range map[string]bool{
		"Forwarded": true, "Via": true, "X-Forwarded-For": true, "X-Forwarded-Host": true, "X-Forwarded-Proto": true,
		"X-Forwarded-Anything": true, "X-Real-Ip": true, "X-Client-Ip": true, "X-Original-Host": true,
		"X-Original-Forwarded-For": true, "True-Client-Ip": true, "Cf-Connecting-Ip": true, "Cf-Ray": true,
		"x-forwarded-for": true, "User-Agent": false, "X-Test-Case-Id": false, "Forwarding": false,
	} {
		for _, value := range []string{"", "127.0.0.1"} {
			r := httptest.NewRequest(http.MethodGet, "http://localhost/x", nil)
			r.RemoteAddr = "127.0.0.1:5"
			r.Header[name] = []string{value}
			w := httptest.NewRecorder()
			Front(http.NotFoundHandler(), FrontConfig{}).ServeHTTP(w, r)
			if (w.Code == http.StatusForbidden) != elsewhere {
				t.Errorf("%s: %q: %d", name, value, w.Code)
			}
		}
	}
}

// Clients of a model's provider always send a key: it matters only where the server has one itself.
func TestFrontAnyKey(t *testing.T) {
	for token, want := range map[string]int{"": 404, "secret": 401} {
		r := httptest.NewRequest(http.MethodGet, "http://localhost/x", nil)
		r.RemoteAddr = "127.0.0.1:5"
		r.Header.Set("Authorization", "Bearer sk-1")
		w := httptest.NewRecorder()
		Front(http.NotFoundHandler(), FrontConfig{
			Access: access.New(access.Config{Token: token}), AnyKey: true,
		}).ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("%q: %d, want %d", token, w.Code, want)
		}
	}
}

func TestFrontHealth(t *testing.T) {
	for _, path := range []string{"/healthz", "/livez"} { // from elsewhere, without a token
		w := httptest.NewRecorder()
		front := Front(http.NotFoundHandler(), FrontConfig{Access: access.New(access.Config{Token: "secret"})})
		front.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != 200 || w.Body.String() != "ok\n" {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	for path, want := range map[string]int{"/healthz": 503, "/livez": 200} {
		w := httptest.NewRecorder()
		front := Front(http.NotFoundHandler(), FrontConfig{Stopping: func() bool { return true }})
		front.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != want {
			t.Errorf("%s of a server that stops: %d", path, w.Code)
		}
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
	if p := decoded[Problem](t, w.Body.String()); w.Code != 500 || p.Code != "internal_error" ||
		strings.Contains(w.Body.String(), "fell over") {
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
		Front(http.NotFoundHandler(), FrontConfig{Healthy: func() error {
			return tc.err
		}}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/healthz", nil))
		if w.Code != tc.want || strings.Contains(w.Body.String(), "10.0.0.7") {
			t.Errorf("%v: %d %s", tc.err, w.Code, w.Body)
		}
	}
}

// storedToken is rht_1 with one scope.
func storedToken(scope access.Scope) map[string]store.Token {
	return map[string]store.Token{"rht_1": {Name: string(scope), Scopes: []string{string(scope)}}}
}
