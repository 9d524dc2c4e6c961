package store_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/run/store/servertest"
	"github.com/rehearse-dev/rehearse/internal/web/api"
)

// eventServer takes events into a store, as `rehearse serve` does.
func eventServer(t *testing.T, events *store.Events) (post func(path, media, body string) (status int, answer string)) {
	t.Helper()
	agents, err := api.NewAgents(api.AgentsConfig{Engine: flow.New(flow.Config{}), Events: events})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(agents)
	t.Cleanup(s.Close)
	return func(path, media, body string) (int, string) {
		t.Helper()
		response, err := s.Client().Post(s.URL+"/api/v1/events"+path, media, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		answer, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, strings.TrimSpace(string(answer))
	}
}

func TestEventsOverHTTP(t *testing.T) {
	eventsOverHTTP(t, fresh(t).Events())
}

func TestPostgresEventsOverHTTP(t *testing.T) {
	t.Parallel()
	t.Run("as in a file", func(t *testing.T) { eventsOverHTTP(t, openPostgres(t, newDatabase(t)).Events()) })
	t.Run("a table that refuses some", func(t *testing.T) { refusedOverHTTP(t, servertest.Database(t)) })
	t.Run("the server is away", func(t *testing.T) { awayOverHTTP(t, newDatabase(t)) })
}

// eventsOverHTTP posts real conversations and plays what the store then has.
func eventsOverHTTP(t *testing.T, events *store.Events) {
	lines := realEvents(t)
	post := eventServer(t, events)
	for i, line := range lines[:20] {
		for _, want := range []int{http.StatusCreated, http.StatusOK} {
			status, answer := post("", "application/json", line)
			if status != want || !strings.Contains(answer, fmt.Sprintf(`"added":%t`, want == http.StatusCreated)) {
				t.Fatalf("event %d: %d %s, want %d", i, status, answer, want)
			}
		}
	}
	added := 20
	for from := 10; from < len(lines); from += 300 {
		part := lines[from:min(from+300, len(lines))]
		bodies := [][2]string{
			{"application/json", "[" + strings.Join(part, ",") + "]"},
			{"application/json", `{"events":[` + strings.Join(part, ",") + `]}`},
			{"application/x-ndjson", strings.Join(part, "\n\n")},
		}
		body := bodies[from/300%3]
		status, text := post("/batch", body[0], body[1])
		var answer struct{ Added, Known, Rejected int }
		if err := json.Unmarshal([]byte(text), &answer); err != nil || status != http.StatusOK ||
			answer.Added+answer.Known != len(part) || answer.Rejected > 0 {
			t.Fatalf("batch at %d: %d %s, %v", from, status, text, err)
		}
		added += answer.Added
	}
	if added != len(lines) {
		t.Errorf("%d events were new, want %d", added, len(lines))
	}
	status, text := post("/batch", "application/x-ndjson", lines[0]+"\nnothing\n"+
		strings.Replace(lines[1], `"event_id":"`, `"event_id":"new-`, 1)+"\n"+`{"event_id":"x"}`)
	if status != http.StatusMultiStatus ||
		!strings.HasPrefix(text, `{"added":1,"known":1,"rejected":2,"results":[{"index":0,"event_id":`) ||
		!strings.Contains(text, `{"index":1,"status":422,"error":"it is not the JSON of an event`) ||
		!strings.Contains(text, `{"index":3,"event_id":"x","status":422,"error":"it has no timestamp"}`) {
		t.Errorf("%d %s", status, text)
	}

	want, got := sessionsFrom(t, replay.ReadJSONL(strings.NewReader(strings.Join(lines, "\n")), nil)),
		sessionsFrom(t, events.Each(t.Context(), replay.Filter{}))
	if got != want {
		t.Errorf("sessions that can be replayed: %s; of the file: %s", got, want)
	}
}

// sessionsFrom says how many sessions events make up, and what is in them.
func sessionsFrom(t *testing.T, events func(func(replay.Event, error) bool)) string {
	t.Helper()
	var faults replay.Faults
	sessions, turns, completed := 0, 0, 0
	seen := map[string]bool{}
	for s, err := range replay.Sessions(events, 0, &faults) {
		if err != nil {
			t.Fatal(err)
		}
		if !seen[s.ID] {
			sessions++
		}
		seen[s.ID] = true
		turns += s.Turns()
		if s.Completed {
			completed++
		}
	}
	turnsOfNew := 0 // the one that was posted under another id besides
	for e, err := range events {
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(e.ID, "new-") && strings.Contains(string(e.Payload), `"user"`) {
			turnsOfNew++
		}
	}
	return fmt.Sprintf("%d sessions, %d turns, %d completed", sessions, turns-turnsOfNew, completed)
}

// realEvents are lines of events of real conversations, ordered by session.
func realEvents(t *testing.T) []string {
	t.Helper()
	f, err := os.Open("../../replay/testdata/star/events.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unpacked, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(unpacked)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}

// refusedOverHTTP has a table of an application that keeps short types of events only.
func refusedOverHTTP(t *testing.T, u *url.URL) {
	execute(t, u, `CREATE SCHEMA exp; CREATE TABLE exp.events (event_id varchar(100) PRIMARY KEY, event_type varchar(20), unit_type text, unit_id text,
		experiments jsonb, context jsonb, metrics jsonb, payload jsonb, "timestamp" timestamptz)`)
	post := eventServer(t, openPostgres(t, u).Events())
	event := func(id, kind string) string {
		return fmt.Sprintf(
			`{"event_id":%q,"event_type":%q,"context":{"session_id":"s"},"timestamp":"2026-01-31T12:00:00Z"}`, id, kind)
	}
	status, text := post("", "", event("1", strings.Repeat("long", 20)))
	if status != http.StatusUnprocessableEntity || !strings.Contains(text, "the store cannot keep it") ||
		strings.Contains(text, "postgres") {
		t.Errorf("%d %s", status, text)
	}
	status, text = post("/batch", "", "["+event("1", "a")+","+event("2", strings.Repeat("long", 20))+","+
		event("3", "c")+"]")
	if status != http.StatusMultiStatus || !strings.Contains(text, `{"added":2,"known":0,"rejected":1,`) ||
		!strings.Contains(text, `{"index":1,"event_id":"2","status":422,"error":"the store cannot keep it`) {
		t.Errorf("%d %s", status, text)
	}
}

func awayOverHTTP(t *testing.T, u *url.URL) {
	g := newGateway(t, "127.0.0.1:0", u.Host)
	through, real := *u, u.Host
	through.Host = g.listener.Addr().String()
	post := eventServer(t, openPostgres(t, &through).Events())
	line := realEvents(t)[0]
	g.close()
	for _, path := range []string{"", "/batch"} {
		body := line
		if path != "" {
			body = "[" + line + "]"
		}
		status, text := post(path, "", body)
		if status != http.StatusServiceUnavailable || !strings.Contains(text, `"code":"store_unavailable"`) ||
			strings.Contains(text, "127.0.0.1") {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	g = newGateway(t, through.Host, real)
	defer g.close()
	if status, text := post("", "", line); status != http.StatusCreated {
		t.Errorf("the server is back: %d %s", status, text)
	}
}
