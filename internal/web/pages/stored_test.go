package pages_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/data/dataset"
	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/run/runindex"
	"github.com/rehearse-dev/rehearse/internal/web/pages"
)

// log is events in the order of their sessions.
type log []replay.Event

func (l log) EachFrom(_ context.Context, f replay.Filter, session string) iter.Seq2[replay.Event, error] {
	return func(yield func(replay.Event, error) bool) {
		for _, e := range l {
			if e.SessionID >= session && !yield(e, nil) {
				return
			}
		}
	}
}

// shelf is datasets by name.
type shelf map[string][]dataset.Record

func (s shelf) List(context.Context) (all []dataset.Entry, err error) {
	for _, name := range sorted(strings.Join(keysOf(s), " ")) {
		all = append(all, dataset.Entry{Name: name, Description: "about " + name, Items: len(s[name])})
	}
	return all, nil
}

func keysOf(s shelf) (keys []string) {
	for key := range s {
		keys = append(keys, key)
	}
	return keys
}

func (s shelf) Items(_ context.Context, name string) iter.Seq2[dataset.Record, error] {
	return func(yield func(dataset.Record, error) bool) {
		items, ok := s[name]
		if !ok {
			yield(dataset.Record{}, dataset.ErrUnknown)
		}
		for _, item := range items {
			if !yield(item, nil) {
				return
			}
		}
	}
}

// storeSite serves pages over a store.
func storeSite(t *testing.T, open func(context.Context) (*pages.Stored, error)) *site {
	t.Helper()
	web := httptest.NewServer(pages.New(pages.Config{
		Runs: runindex.New(nil), Store: open, Now: func() time.Time { return now },
	}))
	t.Cleanup(web.Close)
	return &site{t: t, web: web}
}

// logged makes the events of a session: its start, what was said in turn, and its end.
func logged(id, flow, unit string, began time.Time, end string, said ...string) (events []replay.Event) {
	at := began
	add := func(kind, payload, state string, turn int) {
		at = at.Add(time.Second)
		events = append(events, replay.Event{
			ID: fmt.Sprint(id, len(events)), Type: kind, UnitType: "user", UnitID: unit,
			SessionID: id, FlowID: flow, Time: at, Payload: json.RawMessage(payload),
			Context: json.RawMessage(`{"current_state":` + mustJSON(state) + `}`),
			Metrics: json.RawMessage(fmt.Sprintf(`{"turn_number":%d}`, turn)),
		})
	}
	add(replay.Started, "{}", "", 0)
	for i, text := range said {
		add(replay.Message, `{"sender":"`+[]string{"user", "bot"}[i%2]+`","message_text":`+mustJSON(text)+`}`,
			"state "+id, i/2+1)
	}
	if end != "" {
		add(end, "{}", "", 0)
	}
	return events
}

func TestSessions(t *testing.T) {
	events := log(slices.Concat(
		logged("a/1", "hotel", "ada", now.Add(-48*time.Hour), replay.Completed, "Hi", "**Hello**", "Bye", ""),
		logged("b", "hotel", "bob", now.Add(-24*time.Hour), replay.DroppedOff, bad, bad),
		logged("c", "taxi", "ada", now, "", "Hi", "Hello")))
	s := storeSite(t, func(context.Context) (*pages.Stored, error) {
		return &pages.Stored{Sessions: events, Datasets: shelf{}}, nil
	})
	page := s.get(200, "/sessions")
	if got := rows(page, "session", "data-session"); got != "c b a/1" {
		t.Errorf("%s", got)
	}
	if a := page.One("data-session=a/1").Attr; a["data-flow"] != "hotel" || a["data-outcome"] != "completed" ||
		a["data-turns"] != "2" || a["data-live"] != "false" {
		t.Errorf("%v", a)
	}
	for query, want := range map[string]string{
		"?flow=hotel": "b a/1", "?outcome=dropped&outcome=unknown": "c b", "?unit=ada&flow=taxi": "c",
		"?from=2026-07-13": "c b", "?to=2026-07-13": "a/1", "?q=HÔTEL+ada": "a/1", "?live=true": "", "?from=soon": "",
		"?per=1&page=2": "b",
	} {
		page := s.get(200, "/sessions"+query)
		if got := rows(page, "session", "data-session"); got != want ||
			(want == "") != (len(page.All("data-empty")) == 1) {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	page = s.get(200, page.One("data-session=a/1").One("<a>").Attr["href"])
	if a := page.One("<main>").Attr; a["data-session"] != "a/1" || a["data-outcome"] != "completed" {
		t.Errorf("%v", a)
	}
	var said []string
	for _, turn := range page.All("data-turn") {
		for _, m := range turn.All("data-message") {
			said = append(said, turn.Attr["data-turn"]+":"+m.Attr["data-role"])
		}
	}
	if got := strings.Join(said, " "); got != "1:user 1:assistant 2:user" || page.One("<strong>").Words() != "Hello" ||
		!strings.Contains(page.One("data-turn=2").Words(), "An empty message of the assistant") {
		t.Errorf("%s", got)
	}
	if page.One("data-state").Attr["data-state"] != "state a/1" {
		t.Error("no state")
	}
	if raw := s.get(200, page.One("data-key=r").Attr["href"]); len(raw.All("<strong>")) != 0 {
		t.Error("raw is rendered")
	}
	s.get(200, "/sessions/b")
	for _, id := range []string{"none", "a", "a%2F", "zz"} {
		s.get(404, "/sessions/"+id)
	}
}

func TestStoreThatIsNotThere(t *testing.T) {
	s := storeSite(t, func(context.Context) (*pages.Stored, error) { return nil, nil })
	for path, command := range map[string]string{
		"/sessions": "rehearse replay import", "/datasets": "rehearse dataset push",
	} {
		if w := s.get(200, path).One("data-empty").Words(); !strings.Contains(w, command) {
			t.Errorf("%s: %q", path, w)
		}
	}
	s.get(404, "/sessions/x")
	s.get(404, "/datasets/x")
	away := storeSite(t, func(context.Context) (*pages.Stored, error) { return nil, errors.New("secret address") })
	for _, path := range []string{"/sessions", "/datasets", "/sessions/x", "/datasets/x"} {
		if page := away.get(503, path); page.One("<main>").Attr["data-page"] != "unavailable" ||
			strings.Contains(page.Words(), "secret") {
			t.Errorf("%s: %s", path, page.Words())
		}
	}
	away.get(200, "/runs")
}

func TestDatasets(t *testing.T) {
	items := []dataset.Record{
		{ID: "one", Input: json.RawMessage(`{"query":"Hi\nStra\u00dfe"}`), Expected: json.RawMessage(`"greeting"`)},
		{ID: bad, Input: json.RawMessage(mustJSON(bad)), Metadata: json.RawMessage(`{"a":1}`)},
	}
	s := storeSite(t, func(context.Context) (*pages.Stored, error) {
		return &pages.Stored{Datasets: shelf{"intents": items, "empty": nil}, Sessions: log{}}, nil
	})
	page := s.get(200, "/datasets")
	if got := rows(page, "dataset", "data-dataset"); got != "empty intents" ||
		page.One("data-dataset=intents").Attr["data-items"] != "2" {
		t.Errorf("%s", got)
	}
	page = s.get(200, page.One("data-dataset=intents").One("<a>").Attr["href"])
	if a := page.One("data-list=items").Attr; a["data-total"] != "2" || len(page.All("data-row=item")) != 2 ||
		page.One("data-row=item").Attr["data-item"] != "one" {
		t.Errorf("%v", a)
	}
	// one question of several is enough
	for query, want := range map[string]string{"q=greeting": "one", "q=strasse": "one", "q=greeting&q=nothing": "one"} {
		if got := rows(s.get(200, "/datasets/intents?"+query), "item", "data-item"); got != want {
			t.Errorf("%s: %s", query, got)
		}
	}
	if got := s.get(200, "/datasets/intents?per=1&page=2").One("data-list=items").Attr; got["data-from"] != "2" ||
		got["data-to"] != "2" || got["data-total"] != "2" {
		t.Errorf("%v", got)
	}
	for _, path := range []string{"/datasets/empty", "/datasets?q=nothing", "/datasets/intents?q=nothing"} {
		if len(s.get(200, path).All("data-empty")) != 1 {
			t.Errorf("%s: no word of why it is empty", path)
		}
	}
	s.get(404, "/datasets/none")
}

// Update is not asked for: these shelves are only looked at.
func (shelf) Update(context.Context, string, string, dataset.PutOptions,
	func(*dataset.Record) (dataset.Record, error)) error {
	return errors.New("these datasets are not written")
}
