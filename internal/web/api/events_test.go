package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rehearse-dev/rehearse/internal/fleet/access"
	"github.com/rehearse-dev/rehearse/internal/replay"
)

// logFunc is a log of events made of a function.
type logFunc func(ctx context.Context, events []replay.Event) ([]bool, error)

func (f logFunc) Add(ctx context.Context, events []replay.Event) ([]bool, error) {
	return f(ctx, events)
}

// memoryLog keeps the ids of events.
func memoryLog() EventLog {
	known := map[string]bool{}
	return logFunc(func(_ context.Context, events []replay.Event) (added []bool, err error) {
		for _, e := range events {
			added = append(added, !known[e.ID])
			known[e.ID] = true
		}
		return added, nil
	})
}

// refusal is an error of a store that is well.
type refusal struct{}

func (refusal) Error() string { return "value too long in postgres://db.internal" }

func (refusal) Refused() bool { return true }

func eventJSON(id string) string {
	return fmt.Sprintf(`{"event_id":%q,"event_type":"message_sent","context":{"session_id":"s"},"payload":{"sender":"user"},"timestamp":"2026-01-31T12:00:00Z"}`, id)
}

// postEvents posts to a server of events, as a program of this machine.
func postEvents(t testing.TB, s *Events, path, media, body string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "http://localhost/api/v1/events"+path, strings.NewReader(body))
	r.RemoteAddr = "127.0.0.1:9"
	if media != "" {
		r.Header.Set("Content-Type", media)
	}
	w := httptest.NewRecorder()
	Front(s.table().handler(), FrontConfig{}).ServeHTTP(w, r)
	if w.Code >= 400 {
		var p Problem
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || p.Status != w.Code || p.Code == "" ||
			p.Detail == "" || p.Hint == "" || w.Header().Get("Content-Type") != "application/problem+json" {
			t.Errorf("%d is no problem document: %s", w.Code, w.Body)
		}
	}
	return w
}

func TestLoggedEvents(t *testing.T) {
	const lines = "application/x-ndjson; charset=utf-8"
	long := strings.Repeat("x", replay.MaxName+1)
	for _, tc := range []struct {
		name, path, media, body string
		status                  int
		want                    string
	}{
		{"one", "", "application/json", eventJSON("new"), 201, `{"event_id":"new","added":true}`},
		{"one that is there", "", "", eventJSON("old"), 200, `{"event_id":"old","added":false}`},
		{"no JSON", "", "", "{", 400, `"the body is not JSON"`},
		{"nothing", "", "", "", 400, `"the body is not JSON"`},
		{"two", "", "", eventJSON("1") + eventJSON("2"), 400, `"the body is not JSON"`},
		{"bytes", "", "", "\xff\xfe\x00", 400, `"the body is not JSON"`},
		{"a list", "", "", "[" + eventJSON("1") + "]", 422, "the body is not an event: it is not the JSON of an event"},
		{"null", "", "", "null", 422, "a JSON null stands where an object is expected"},
		{"no id", "", "", eventJSON(""), 422, "it has no event_id"},
		{"a long id", "", "", eventJSON(long), 422, "longer than 512 bytes"},
		{
			"no session", "", "", strings.Replace(eventJSON("1"), "session_id", "session", 1), 422,
			"its context has no session_id",
		},
		{
			"a list for a session", "", "", strings.Replace(eventJSON("1"), `"s"`, `[7]`, 1), 422,
			"its context cannot be read",
		},
		{"a far year", "", "", strings.Replace(eventJSON("1"), "2026", "+12026", 1), 422, "is no time such as"},
		{
			"a type that is a list", "", "", strings.Replace(eventJSON("1"), `"message_sent"`, `[]`, 1), 422,
			"its event_type cannot be a JSON array",
		},
		{
			"deep", "", "",
			strings.Replace(eventJSON("1"), `"user"`, strings.Repeat("[", 300)+strings.Repeat("]", 300), 1), 422,
			"nested deeper than 200 levels",
		},
		{
			"brackets in text", "", "",
			strings.Replace(eventJSON("1"), `"user"`, `"\"`+strings.Repeat("[", 300)+`"`, 1), 201, `"added":true`,
		},
		{
			"large", "", "", strings.Replace(eventJSON("1"), "user", strings.Repeat("x", 1<<20), 1), 413,
			"the body is larger than 1 MB",
		},
		{"another media type", "", "text/plain", eventJSON("1"), 415, "send JSON, with Content-Type: application/json"},
		{"lines where one is wanted", "", lines, eventJSON("1"), 415, "unsupported_media_type"},

		{
			"a list of them", "/batch", "", "[" + eventJSON("1") + "," + eventJSON("old") + "]", 200,
			`{"added":1,"known":1,"rejected":0}`,
		},
		{
			"under a key", "/batch", "", ` {"events": [` + eventJSON("1") + `,` + eventJSON("1") + `]}`, 200,
			`{"added":1,"known":1,"rejected":0}`,
		},
		{
			"lines", "/batch", lines, eventJSON("1") + "\r\n\n  " + eventJSON("2"), 200,
			`{"added":2,"known":0,"rejected":0}`,
		},
		{"none", "/batch", "", "[]", 200, `{"added":0,"known":0,"rejected":0}`},
		{"no lines", "/batch", lines, "", 200, `{"added":0,"known":0,"rejected":0}`},
		{
			"some are none", "/batch", "", `[` + eventJSON("1") + `,null,7,` +
				eventJSON("old") + `,` + eventJSON("") + `,{"event_id":"x","timestamp":"now"}]`,
			207, `{"added":1,"known":1,"rejected":4,"results":[{"index":0,"event_id":"1","status":201},{"index":1,"status":422,"error":"it is not the JSON of an event: a JSON null stands where an object is expected"},` +
				`{"index":2,"status":422,"error":"it is not the JSON of an event: a JSON number stands where an object is expected"},`,
		},
		{
			"some lines are none", "/batch", lines, "nothing\n" + eventJSON("1"), 207,
			`{"added":1,"known":0,"rejected":1,"results":[{"index":0,"status":422,`,
		},
		{"all are none", "/batch", "", `[1,2]`, 207, `{"added":0,"known":0,"rejected":2,`},
		{
			"one of them is large", "/batch", "",
			`[` + strings.Replace(eventJSON("1"), "user", strings.Repeat("x", 1<<20), 1) + `]`, 207,
			"it is larger than 1 MB",
		},
		{"an object without events", "/batch", "", eventJSON("1"), 400, `it has no \"events\"`},
		{"events that are no list", "/batch", "", `{"events":{}}`, 400, "the events are not a list"},
		{"events that are null", "/batch", "", `{"events":null}`, 400, `it has no \"events\"`},
		{"text", "/batch", "", `"x"`, 400, "the body is not a batch of events"},
		{"no batch", "/batch", "", "", 400, "the body is not a batch of events"},
		{"half a batch", "/batch", "", `[` + eventJSON("1"), 400, "the body is not a batch of events"},
		{"deep batch", "/batch", "", strings.Repeat("[", 100_000), 400, "the body is not a batch of events"},
		{"many", "/batch", "", `[` + strings.Repeat("0,", 200_000) + `0]`, 413, "more than 1000 events"},
		{"many lines", "/batch", lines, strings.Repeat("0\n", 1_001), 413, "more than 1000 events"},
		{"a large batch", "/batch", lines, strings.Repeat(" ", 8<<20+1), 413, "the body is larger than 8 MB"},
		{"another media type of a batch", "/batch", "text/csv", "a,b", 415, "unsupported_media_type"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := NewEvents(EventsConfig{Store: memoryLog()})
			postEvents(t, s, "", "", eventJSON("old"))
			w := postEvents(t, s, tc.path, tc.media, tc.body)
			if w.Code != tc.status || !strings.Contains(w.Body.String(), tc.want) {
				t.Errorf("%d %.500s; want %d %s", w.Code, w.Body, tc.status, tc.want)
			}
		})
	}
}

func TestLoggedEventsAreClosedToOthers(t *testing.T) {
	s := NewEvents(EventsConfig{Store: memoryLog()})
	for _, tc := range []struct {
		status  int
		prepare func(*http.Request)
	}{
		{http.StatusCreated, func(*http.Request) {}},
		{http.StatusUnauthorized, func(r *http.Request) { r.Header.Del("Authorization") }},
		{http.StatusUnauthorized, func(r *http.Request) { r.RemoteAddr = "10.0.0.1:9"; r.Header.Del("Authorization") }},
		{http.StatusCreated, func(r *http.Request) { r.RemoteAddr = "10.0.0.1:9" }},
		{http.StatusCreated, func(r *http.Request) { r.Header.Set("X-Forwarded-For", "127.0.0.1") }},
		{http.StatusForbidden, func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }},
		{http.StatusMethodNotAllowed, func(r *http.Request) { r.Method = http.MethodGet }},
		{http.StatusNotFound, func(r *http.Request) { r.URL.Path += "/other" }},
	} {
		r := httptest.NewRequest(http.MethodPost, "http://localhost/api/v1/events",
			strings.NewReader(eventJSON(fmt.Sprint(tc.status, len(t.Name())))))
		r.RemoteAddr = "127.0.0.1:9"
		r.Header.Set("Authorization", "Bearer secret")
		tc.prepare(r)
		w := httptest.NewRecorder()
		Front(s.table().handler(), FrontConfig{Access: access.New(access.Config{Token: "secret"})}).ServeHTTP(w, r)
		if w.Code != tc.status && (tc.status != http.StatusCreated || w.Code != http.StatusOK) {
			t.Errorf("%d %s, want %d", w.Code, w.Body, tc.status)
		}
	}
}

// TestLoggedEventsStoreFails has a store that is away, one that never answers, and one that refuses what it is given.
func TestLoggedEventsStoreFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		answer := logFunc(func(context.Context, []replay.Event) ([]bool, error) {
			return nil, errors.New("nothing listens at db.internal")
		})
		s := NewEvents(EventsConfig{
			Log: slog.New(slog.NewTextHandler(&log, nil)),
			Store: logFunc(func(ctx context.Context, events []replay.Event) ([]bool, error) {
				return answer(ctx, events)
			}),
		})
		away := func() {
			t.Helper()
			for path, body := range map[string]string{"": eventJSON("1"), "/batch": "[" + eventJSON("1") + "]"} {
				w := postEvents(t, s, path, "", body)
				if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") != "5" ||
					strings.Contains(w.Body.String(), "db.internal") {
					t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
				}
			}
		}
		away()
		if !strings.Contains(log.String(), "nothing listens at db.internal") ||
			strings.Contains(log.String(), "message_sent") {
			t.Errorf("the log has %s", &log)
		}
		answer = logFunc(func(ctx context.Context, events []replay.Event) ([]bool, error) {
			<-ctx.Done()
			return make([]bool, len(events)), ctx.Err()
		})
		away()
		answer = func(_ context.Context, events []replay.Event) (added []bool, err error) {
			for _, e := range events {
				if strings.HasPrefix(e.ID, "bad") {
					return nil, fmt.Errorf("events: %w", refusal{})
				}
				added = append(added, true)
			}
			return added, nil
		}
		w := postEvents(t, s, "", "", eventJSON("bad"))
		if w.Code != http.StatusUnprocessableEntity || strings.Contains(w.Body.String(), "db.internal") {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		w = postEvents(t, s, "/batch", "", "["+eventJSON("1")+","+eventJSON("bad")+","+eventJSON("3")+"]")
		if w.Code != http.StatusMultiStatus ||
			!strings.HasPrefix(w.Body.String(), `{"added":2,"known":0,"rejected":1,`) {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
}

func TestLoggedEventsAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		entered, leave := make(chan struct{}), make(chan struct{})
		s := NewEvents(EventsConfig{MaxRequests: 1, PerSecond: 600, Store: logFunc(func(_ context.Context,
			events []replay.Event) ([]bool, error) {
			entered <- struct{}{}
			<-leave
			return make([]bool, len(events)), nil
		})})
		limited := func(path, body, wait string) {
			t.Helper()
			if w := postEvents(t, s, path, "", body); w.Code != http.StatusTooManyRequests ||
				w.Header().Get("Retry-After") != wait {
				t.Errorf("%d %v %s, want Retry-After: %s", w.Code, w.Header(), w.Body, wait)
			}
		}
		// One request holds the only place.
		first := make(chan int)
		go func() { first <- postEvents(t, s, "", "", eventJSON("1")).Code }()
		<-entered
		limited("", eventJSON("2"), "1")
		leave <- struct{}{}
		if status := <-first; status != http.StatusOK {
			t.Errorf("the first one: %d", status)
		}
		// 1,200 events may come at once, and then 600 a second.
		go func() {
			<-entered
			leave <- struct{}{}
		}()
		many := "[" + strings.Repeat(eventJSON("x")+",", 998) + eventJSON("x") + "]"
		if w := postEvents(t, s, "/batch", "", many); w.Code != http.StatusOK {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		limited("/batch", many, "2")
		go func() {
			<-entered
			leave <- struct{}{}
		}()
		if w := postEvents(t, s, "", "", eventJSON("3")); w.Code != http.StatusOK {
			t.Errorf("one event, for which there is room: %d %s", w.Code, w.Body)
		}
	})
}

func FuzzLoggedEvents(f *testing.F) {
	for _, body := range []string{
		eventJSON("1"), "[" + eventJSON("1") + "]", `{"events":[null]}`, "null",
		`[{"event_id":1}]`, eventJSON("1") + "\n" + eventJSON("2"), `{"events":[`,
		`[{"event_id":"a","context":{"session_id":"\ud800"},"event_type":"x","timestamp":"0000-01-01 00:00:00"}]`,
	} {
		f.Add(body, true)
		f.Add(body, false)
	}
	f.Fuzz(func(t *testing.T, body string, lines bool) {
		s := NewEvents(EventsConfig{Store: logFunc(func(_ context.Context, events []replay.Event) ([]bool, error) {
			for _, e := range events {
				if e.ID == "" || e.SessionID == "" || e.Type == "" || len(e.ID) > replay.MaxName ||
					nestedDeeper(e.Payload, maxNesting) {
					t.Errorf("the store was given %+v", e)
				}
			}
			return make([]bool, len(events)), nil
		})})
		media := ""
		if lines {
			media = "application/x-ndjson"
		}
		for _, path := range []string{"", "/batch"} {
			if w := postEvents(t, s, path, media, body); w.Code >= 500 {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		}
	})
}
