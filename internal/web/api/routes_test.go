package api

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/fleet/access"
)

// scopes has the scope of each route (service.md 3.1); + marks what --public opens.
const scopes = `
read  GET /docs
read  GET /metrics
read  GET /openapi.json
read  GET /api/v1/artifacts/{sha256}
read  GET /api/v1/chat/{site_name}/sessions
read  GET /api/v1/chat/{site_name}/{session_id}
read  GET /api/v1/datasets
read  GET /api/v1/flows
read  GET /api/v1/flows/{flow_id}
read  GET /api/v1/flows/{flow_id}/drawing
read  GET /api/v1/replays
read  GET /api/v1/runs
read  GET /api/v1/runs/{run_id}
read  GET /api/v1/runs/{run_id}/artifacts
read  GET /api/v1/runs/{run_id}/events
read  GET /api/v1/runs/{run_id}/results
read  GET /api/v1/runs/{run_id}/results/{result_id}
read  GET /api/v1/runs/{run_id}/spec
read  GET /api/v1/runs/{run_id}/{file}
read  GET /api/v1/schedules
read  GET /api/v1/schedules/{name}
read  GET /api/v1/sessions
read  GET /api/v1/variants
read  GET /api/v1/workers
read+ POST /api/v1/chat/{site_name}/{session_id}/feedback
read+ GET /chat.js
read+ GET /chat/assets/page.css
read+ GET /chat/assets/page.js
read+ GET /chat/assets/page/{file}
read+ GET /chat/{site_name}
read+ GET /chat/{site_name}/config.json
read+ GET /chat/{site_name}/theme.css
run   DELETE /api/v1/schedules/{name}
run   HEAD /api/v1/blobs/{sha256}
run   POST /api/v1/runs
run   POST /api/v1/runs/{run_id}/cancel
run   POST /api/v1/schedules
run   POST /api/v1/schedules/{name}/run
run   POST /api/v1/suites/validate
run   PUT /api/v1/blobs/{sha256}
test  DELETE /api/v1/conversations/{conversation_id}
test  GET /api/v1/chat/{site_name}/{session_id}/state
test  GET /api/v1/conversations/{conversation_id}
test  GET /internal/agent/test
test+ OPTIONS /api/v1/chat
test  PATCH /api/v1/chat/{site_name}/{session_id}/state
test+ POST /api/v1/chat
test  POST /api/v1/conversations
test  POST /api/v1/conversations/{conversation_id}/messages
test  POST /api/v1/conversations/{conversation_id}/reset
test  POST /api/v1/events
test  POST /api/v1/events/batch
test  POST /execute
test  POST /internal/agent/test
admin+ DELETE /api/v1/chat/{site_name}/{session_id}
admin DELETE /api/v1/runs/{run_id}
admin DELETE /api/v1/tokens/{name}
admin GET /api/v1/tokens
admin POST /api/v1/tokens
admin POST /api/v1/runs/prune
`

// opened are the scopes that a token of one scope opens.
var opened = map[access.Scope][]access.Scope{
	access.Read: {access.Read}, access.Run: {access.Read, access.Run}, access.Test: {access.Test},
	access.Admin: {access.Read, access.Run, access.Test, access.Admin},
}

// allTables are the tables of all rooms of a server.
func allTables() []table {
	chats := &Chats{}
	return []table{(&Flows{}).table(), (&Events{}).table(), (&Runs{}).table(), (&Tokens{}).table(), (&Lists{}).table(), (&docs{}).table(), metricsTable(nil), chats.visitorTable(), chats.testerTable()}
}

// TestScopes walks every route with a token of every scope, and holds the routes to the table of the page.
func TestScopes(t *testing.T) {
	want := map[string]string{}
	for line := range strings.Lines(strings.TrimSpace(scopes)) {
		scope, route, _ := strings.Cut(strings.TrimSpace(line), " ")
		want[strings.TrimSpace(route)] = scope
	}
	got := map[string]string{}
	for _, rows := range allTables() {
		for path, methods := range rows {
			for method, r := range methods {
				name := string(r.scope)
				if r.public {
					name += "+"
				}
				got[method+" "+path] = name
				walkRoute(t, method, path, r)
			}
		}
	}
	if !maps.Equal(got, want) {
		for route, scope := range got {
			if want[route] != scope {
				t.Errorf("%s has the scope %q, the page says %q", route, scope, want[route])
			}
		}
		for route := range want {
			if _, ok := got[route]; !ok {
				t.Errorf("%s is not served", route)
			}
		}
	}
}

// walkRoute asks for a route with a token of each scope.
func walkRoute(t *testing.T, method, path string, of route) {
	t.Helper()
	for scope, opens := range opened {
		served := false
		own := of
		own.handle = func(http.ResponseWriter, *http.Request) { served = true }
		front := Front(table{path: {method: own}}.handler(), FrontConfig{Access: access.New(access.Config{Store: &tokenStore{tokens: storedToken(scope)}})})
		r := httptest.NewRequest(method, "http://server.example"+regexp.MustCompile(`\{[^}]*\}`).ReplaceAllString(path, "x"), nil)
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
	front := Front((&Flows{}).table().handler(), FrontConfig{Access: access.New(access.Config{Store: &tokenStore{tokens: storedToken(access.Read)}})})
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
