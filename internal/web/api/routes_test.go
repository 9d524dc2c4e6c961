package api

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/fleet/access"
)

// public are the routes that are open to visitors. docs/reference/api.md has the scopes of all.
var public = []string{
	"POST /api/v1/chat",
	"OPTIONS /api/v1/chat",
	"DELETE /api/v1/chat/{site_name}/{session_id}",
	"POST /api/v1/chat/{site_name}/{session_id}/feedback",
	"GET /chat/{site_name}",
	"GET /chat/{site_name}/config.json",
	"GET /chat/{site_name}/theme.css",
	"GET /chat/assets/page.css",
	"GET /chat/assets/page.js",
	"GET /chat/assets/page/{file}",
	"GET /chat.js",
}

// opened are the scopes that a token of one scope opens.
var opened = map[access.Scope][]access.Scope{
	access.Read: {access.Read}, access.Run: {access.Read, access.Run}, access.Test: {access.Test},
	access.Admin: {access.Read, access.Run, access.Test, access.Admin},
}

// TestScopes checks that every route serves tokens of its scope only, and which routes are open to visitors.
func TestScopes(t *testing.T) {
	var open []string
	for _, r := range allRoutes() {
		if r.public {
			open = append(open, r.pattern)
		}
		walkRoute(t, r)
	}
	if diff := cmp.Diff(public, open); diff != "" {
		t.Errorf("the routes that are open to visitors differ (-want +got):\n%s", diff)
	}
}

// walkRoute requests a route with a token of each scope.
func walkRoute(t *testing.T, of route) {
	t.Helper()
	method, path, _ := strings.Cut(of.pattern, " ")
	for scope, opens := range opened {
		served := false
		own := of
		own.handle = func(http.ResponseWriter, *http.Request) { served = true }
		front := Front(table{own}.handler(), FrontConfig{
			Access: access.New(access.Config{Store: &tokenStore{tokens: storedToken(scope)}}),
		})
		r := httptest.NewRequest(method,
			"http://server.example"+regexp.MustCompile(`\{[^}]*\}`).ReplaceAllString(path, "x"), nil)
		r.Header.Set("Authorization", "Bearer rht_1")
		w := httptest.NewRecorder()
		front.ServeHTTP(w, r)
		allowed := false
		for _, s := range opens {
			allowed = allowed || s == of.scope
		}
		if served != allowed || !served && w.Code != http.StatusForbidden {
			t.Errorf("%s %s with a token of the scope %s: served %v, status %d", method, path, scope, served, w.Code)
		}
		if served {
			continue
		}
		if p := decoded[Problem](t, w.Body.String()); p.Code != "forbidden" || p.Scope != of.scope {
			t.Errorf("%s %s: %s", method, path, w.Body)
		}
	}
}

// Who is not admitted is told nothing of what is there, and a token of any scope finds out what is not.
func TestNothingThere(t *testing.T) {
	front := Front((&Flows{}).table().handler(), FrontConfig{
		Access: access.New(access.Config{Store: &tokenStore{tokens: storedToken(access.Read)}}),
	})
	for _, c := range []struct {
		method, path, token string
		want                int
	}{
		{"GET", "/nothing", "", 401},
		{"DELETE", "/execute", "", 401},
		{"GET", "/nothing", "rht_1", 404},
		{"DELETE", "/execute", "rht_1", 405},
		{"GET", "/api/v1//flows", "rht_1", 404},
		{"GET", "/api/v1/flows//drawing", "rht_1", 404},
		{"GET", "/api/v1/flows?q=x", "rht_1", 400},
		{"POST", "/healthz", "", 405},
		{"DELETE", "/livez", "", 405},
		{"HEAD", "/livez", "", 200},
	} {
		r := httptest.NewRequest(c.method, "http://localhost"+c.path, nil)
		r.RemoteAddr = "127.0.0.1:5"
		if c.token != "" {
			r.Header.Set("Authorization", "Bearer "+c.token)
		}
		w := httptest.NewRecorder()
		front.ServeHTTP(w, r)
		if w.Code != c.want {
			t.Errorf("%s %s with %q: %d, want %d", c.method, c.path, c.token, w.Code, c.want)
		}
	}
}

// A handler without a front has nobody to ask: it serves nothing.
func TestRouteWithoutAFront(t *testing.T) {
	w := httptest.NewRecorder()
	(&Flows{}).table().handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/v1/flows", nil))
	if w.Code != http.StatusForbidden {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
