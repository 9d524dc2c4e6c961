package api

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// TestReadingIsBounded checks that every entry point that reads a document shares one limit of concurrency, and counts
// what is in the document.
func TestReadingIsBounded(t *testing.T) {
	engine := flow.New(flow.Config{Flows: library(t)})
	bot := &fakeBot{}
	for name, c := range map[string]struct {
		method, path, body, media string
		// counted is true where the body is a document, which may have too many nodes.
		counted bool
	}{
		"a run":           {"POST", "/api/v1/runs", "{}", "", true},
		"a validation":    {"POST", "/api/v1/suites/validate", "{}", "", true},
		"a schedule":      {"POST", "/api/v1/schedules", `{"name": "a", "cron": "@every 1h", "spec": {}}`, "", true},
		"its run":         {"POST", "/api/v1/schedules/a/run", "", "", false},
		"a turn":          {"POST", "/execute", "{}", "", true},
		"a trusted turn":  {"POST", "/internal/agent/test", "{}", "", true},
		"a conversation":  {"POST", "/api/v1/conversations", "{}", "", true},
		"an event":        {"POST", "/api/v1/events", "{}", "", true},
		"events":          {"POST", "/api/v1/events/batch", "[{}]", "", true},
		"lines of events": {"POST", "/api/v1/events/batch", "{}\n{}\n", "application/x-ndjson", true},
		"a state":         {"PATCH", chatPath + "/acme.example/s/state", "{}", "", true},
	} {
		synctest.Test(t, func(t *testing.T) {
			chats, err := NewChats(ChatsConfig{Bot: bot, Operator: &fakeOperator{}, Sites: acmeSites(t)})
			if err != nil {
				t.Fatal(err)
			}
			inside := chats.With(slices.Concat(NewEvents(EventsConfig{}).table(), NewRuns(RunsConfig{}).table(),
				NewFlows(FlowsConfig{Engine: engine}).table()).handler())
			f := newFront(inside, FrontConfig{})
			send := func(body string) *httptest.ResponseRecorder {
				r := httptest.NewRequest(c.method, "http://localhost"+c.path, strings.NewReader(body))
				r.RemoteAddr = "127.0.0.1:5"
				if c.media != "" {
					r.Header.Set("Content-Type", c.media)
				}
				w := httptest.NewRecorder()
				f.ServeHTTP(w, r)
				return w
			}
			for f.reading.enter() { // until all places are taken
			}
			w := send(c.body)
			if p := decoded[Problem](t, w.Body.String()); w.Code != http.StatusServiceUnavailable || p.Code != "busy" ||
				w.Header().Get("Retry-After") != "1" {
				t.Errorf("%s: %d %v %s", name, w.Code, w.Header(), w.Body)
			}
			for range cap(f.reading) {
				f.reading.leave()
			}
			if !c.counted {
				return
			}
			many := strings.Repeat("1,", source.MaxSubmitted)
			w = send(`{"x": [` + many + `1]}`)
			if p := decoded[Problem](t, w.Body.String()); w.Code != http.StatusRequestEntityTooLarge ||
				p.Code != "too_large" {
				t.Errorf("%s with too many nodes: %d %.300s", name, w.Code, w.Body)
			}
			if len(f.reading) != 0 {
				t.Errorf("%s: %d places are still taken", name, len(f.reading))
			}
		})
	}
}
