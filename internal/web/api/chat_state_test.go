package api

import (
	"strings"
	"testing"
)

func TestChatState(t *testing.T) {
	d := openChats(t, &fakeBot{})
	state := chatPath + "/acme.example/s%2F1/state"
	if p := want[Problem](d, 404, "GET", state, ""); p.Code != "unknown_session" {
		t.Errorf("problem %+v", p)
	}
	injected := want[map[string]any](d, 200, "PATCH", state, ` {"hack_count": 1}`)
	if injected["hack_count"] != 1.0 || injected["turn_number"] != 0.0 {
		t.Errorf("injected %v", injected)
	}
	if p := want[Problem](d, 507, "PATCH", state, `{"hack_count": 0}`); p.Code != "session_full" || p.Hint == "" {
		t.Errorf("problem %+v", p)
	}
	if replaced := want[map[string]any](d, 200, "PATCH", state+"?replace=1",
		`{"hack_count": 2}`); replaced["hack_count"] != 2.0 {
		t.Errorf("replaced %v", replaced)
	}
	response, answer := d.do("GET", state, "")
	if response.Header.Get("Cache-Control") != "no-store" || !strings.Contains(answer, `"hack_count":2`) {
		t.Errorf("%v %s", response.Header, answer)
	}
	// Injected, but it cannot be shown.
	if response, _ := d.do("PATCH", chatPath+"/acme.example/broken/state", `{}`); response.StatusCode != 204 {
		t.Errorf("%d", response.StatusCode)
	}
}

func TestChatErase(t *testing.T) {
	d := openChats(t, &fakeBot{})
	one := chatPath + "/acme.example/s1"
	want[map[string]any](d, 200, "PATCH", one+"/state", `{"hack_count": 1}`)
	for range 2 { // also where there is nothing
		if response, answer := d.do("DELETE", one, ""); response.StatusCode != 204 || answer != "" {
			t.Errorf("%d %s", response.StatusCode, answer)
		}
	}
	want[Problem](d, 404, "GET", one+"/state", "")
	if response, answer := d.do("DELETE", chatPath+"/acme.example/busy", ""); response.StatusCode != 429 ||
		answer != `{"error":"session_busy"}` {
		t.Errorf("%d %s", response.StatusCode, answer)
	}
	if p := want[Problem](d, 503, "DELETE", chatPath+"/acme.example/broken", ""); p.Code != "store_failed" ||
		strings.Contains(p.Detail, "10.0.0.7") {
		t.Errorf("%+v", p)
	}
	if p := want[Problem](d, 404, "DELETE", chatPath+"/other.example/s1", ""); p.Code != "unknown_site" {
		t.Errorf("%+v", p)
	}
	want[Problem](d, 400, "DELETE", chatPath+"/acme.example/a%00b", "")
}

func TestChatStateRefuses(t *testing.T) {
	d := openChats(t, &fakeBot{})
	for name, c := range map[string]struct {
		method, path, body string
		status             int
		code               string
	}{
		"unknown field":  {"PATCH", "/acme.example/s/state", `{"mood":1}`, 422, "unknown_field"},
		"unknown site":   {"PATCH", "/other.example/s/state", `{}`, 404, "unknown_site"},
		"looked at":      {"GET", "/other.example/s/state", ``, 404, "unknown_site"},
		"broken":         {"PATCH", "/acme.example/s/state", `{`, 400, "invalid_request"},
		"a list":         {"PATCH", "/acme.example/s/state", `[]`, 400, "invalid_request"},
		"null":           {"PATCH", "/acme.example/s/state", `null`, 400, "invalid_request"},
		"bad UTF-8":      {"PATCH", "/acme.example/s/state", "{\"messages\":\"\xff\"}", 400, "invalid_request"},
		"odd replace":    {"PATCH", "/acme.example/s/state?replace=maybe", `{}`, 400, "invalid_request"},
		"odd session":    {"PATCH", "/acme.example/a%00b/state", `{}`, 400, "invalid_request"},
		"broken session": {"PATCH", "/acme.example/a%ffb/state", `{}`, 400, "invalid_request"},
		"5 MB": {
			"PATCH", "/acme.example/s/state", `{"messages":"` + strings.Repeat("x", 5<<20) + `"}`, 413, "too_large",
		},
		"store":  {"GET", "/acme.example/broken/state", ``, 503, "store_failed"},
		"method": {"DELETE", "/acme.example/s/state", ``, 405, "method_not_allowed"},
	} {
		p := want[Problem](d, c.status, c.method, chatPath+c.path, c.body)
		if p.Code != c.code || p.Detail == "" || strings.Contains(p.Detail, "10.0.0.7") {
			t.Errorf("%s: %+v", name, p)
		}
		if name == "unknown field" && !strings.Contains(p.Detail, "mood") {
			t.Errorf("%s: %+v", name, p)
		}
	}
	if !strings.Contains(d.log.String(), "10.0.0.7") {
		t.Errorf("the log lacks the cause: %s", d.log)
	}
}
