package pages_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/sessionindex"
	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/run/runindex"
	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/web/pages"
)

// holder holds sessions like a chatbot. It notes what it was asked for.
type holder struct {
	mu       sync.Mutex
	sessions []*sitebot.Session
	asked    []sitebot.Query
	away     error
}

func (h *holder) put(sessions ...*sitebot.Session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sessions = append(h.sessions, sessions...)
}

func (h *holder) Sessions(_ context.Context, _ string, q sitebot.Query) (*sitebot.SessionList, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked = append(h.asked, q)
	list := &sitebot.SessionList{}
	newest := slices.SortedFunc(slices.Values(h.sessions), func(a, b *sitebot.Session) int {
		return b.Row.Last.Compare(a.Row.Last)
	})
	for _, s := range newest {
		place := s.Row.Cursor()
		if s.Row.Last.Before(q.Since) || q.After.Thread != "" && !place.Last.Before(q.After.Last) {
			continue
		}
		if len(list.Sessions) == q.Limit {
			next := list.Sessions[len(list.Sessions)-1].Cursor().String()
			list.Next = &next
			break
		}
		list.Sessions = append(list.Sessions, s.Row)
	}
	return list, h.away
}

func (h *holder) Recorded(_ context.Context, row sessionindex.Row) (*sitebot.Session, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.sessions {
		if s.Row.Site == row.Site && s.Row.Session == row.Session {
			return s, h.away
		}
	}
	return nil, h.away
}

// visited makes a held session of what was said in turn.
func visited(site, id, person string, began time.Time, outcome sessionindex.Outcome, said ...string) *sitebot.Session {
	s := &sitebot.Session{Row: sessionindex.Row{
		Site: site, Session: id, Person: person, Started: began, Last: began, Outcome: outcome,
	}}
	before := ""
	for i := 0; i < len(said); i += 2 {
		n, at := i/2+1, began.Add(time.Duration(i+1)*time.Second)
		note := &sessionindex.Turn{
			Number: n, Before: before, Route: fmt.Sprint("ROUTE", n), Started: at, At: at.Add(time.Second),
			Person: person,
		}
		if before = note.Route; outcome == sessionindex.Converted && i+2 == len(said) {
			note.Converted, note.Values = true, map[string]string{"town": "Graz"}
		}
		s.Turns = append(s.Turns, sitebot.SessionTurn{
			Number: n, Input: said[i], Response: said[i+1], Route: note.Route, At: note.At, Note: note,
		})
		s.Row.Turns, s.Row.Last = n, note.At
	}
	return s
}

// heldSite serves pages over what a chatbot holds and a log; the clock is what now says.
func heldSite(t *testing.T, h *holder, events log, at func() time.Time) *site {
	t.Helper()
	open := func(context.Context) (*pages.Stored, error) {
		return &pages.Stored{Sessions: events, Datasets: shelf{}}, nil
	}
	web := httptest.NewServer(pages.New(pages.Config{Runs: runindex.New(nil), Store: open, Live: h, Now: at}))
	t.Cleanup(web.Close)
	return &site{t: t, web: web}
}

func TestHeldSessions(t *testing.T) {
	h := &holder{}
	h.put(
		visited("tea", "s1", "ada", now.Add(-10*time.Minute), sessionindex.Converted, "Hi", "Hello", "Bye", bad),
		visited("tea", "s2", "bob", now.Add(-2*time.Hour), sessionindex.Open, "Hi", "Hello"),
		visited("tea", "s3", "", now.Add(-5*time.Minute), sessionindex.Blocked, "Hi", "Hello"),
		visited("shop", "s3", "", now.Add(-3*time.Hour), sessionindex.Failed),
	)
	events := log(slices.Concat(
		logged("s1", "tea", "ada", now.Add(-10*time.Minute), "", "Hi", "Hello"), // one turn behind
		logged("s2", "hotel", "bob", now.Add(-24*time.Hour), replay.Completed, "A room", "Here"),
	))
	s := heldSite(t, h, events, func() time.Time { return now })
	page := s.get(200, "/sessions")
	var got []string
	for _, row := range page.All("data-row=session") {
		a := row.Attr
		got = append(got, strings.Join([]string{
			a["data-flow"], a["data-session"], a["data-outcome"], a["data-turns"], a["data-live"],
		}, " "))
	}
	want := "tea s3 unknown 1 true, tea s1 completed 2 true, tea s2 dropped 1 true, shop s3 unknown 0 true, " +
		"hotel s2 completed 1 false"
	if list := strings.Join(got, ", "); list != want || page.One("data-list=sessions").Attr["data-total"] != "5" {
		t.Errorf("%s", list)
	}
	for query, want := range map[string]string{
		"?live=1": "s3 s1 s2 s3", "?live=0": "s2", "?live=true&flow=shop": "s3", "?live=maybe": "",
		"?outcome=completed": "s1 s2", "?outcome=dropped": "s2", "?unit=ada": "s1", "?q=TEA+s1": "s1",
		"?to=2026-07-13&live=0": "", "?per=2&page=2": "s2 s3",
	} {
		if got := rows(s.get(200, "/sessions"+query), "session", "data-session"); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	// Each row leads to its own session, also where ids are the same.
	for _, row := range page.All("data-row=session") {
		main := s.get(200, row.One("<a>").Attr["href"]).One("<main>").Attr
		for _, name := range []string{"data-session", "data-flow", "data-outcome", "data-turns", "data-live"} {
			if main[name] != row.Attr[name] {
				t.Errorf("%s of %v is %q on its page", name, row.Attr, main[name])
			}
		}
	}
}

func TestHeldSession(t *testing.T) {
	h := &holder{}
	one := visited("tea", "s1", "ada", now.Add(-time.Minute), sessionindex.Converted, "Hi", "Hello", "Bye", bad)
	one.Failures = []sessionindex.Failure{{At: now, Code: "turn_failed"}}
	h.put(one)
	s := heldSite(t, h, nil, func() time.Time { return now })
	page := s.get(200, "/sessions/s1")
	var said []string
	for _, turn := range page.All("data-turn") {
		for _, state := range turn.All("data-state") {
			said = append(said, state.Attr["data-state"])
		}
		for _, m := range turn.All("data-message") {
			said = append(said, turn.Attr["data-turn"]+":"+m.Attr["data-role"])
		}
	}
	if got := strings.Join(said, " "); got != "START ROUTE1 1:user 1:assistant ROUTE1 ROUTE2 2:user 2:assistant" {
		t.Errorf("%s", got)
	}
	if len(page.All("<script>")) != 1 || page.One("data-failure").Attr["data-code"] != "turn_failed" ||
		!strings.Contains(page.Words(), "Graz") || len(page.All("data-grows")) != 1 {
		t.Errorf("%s", page.Words())
	}
	if raw := s.get(200, page.One("data-key=r").Attr["href"]); raw.One("<main>").Attr["data-live"] != "true" {
		t.Error("raw is not that of the held session")
	}
	if _, suite := s.answer("GET", page.One("data-action=suite").Attr["href"],
		nil, nil); !strings.Contains(suite, "input: Bye") {
		t.Errorf("%s", suite)
	}
	h.put(visited("tea", "s0", "", now, sessionindex.Failed)) // nothing was answered
	for path, status := range map[string]int{
		"/sessions/s0?flow=tea": 200, "/sessions/s0/suite.yaml?flow=tea": 422, "/sessions/s1?flow=shop": 404,
		"/sessions/none": 404,
	} {
		s.get(status, path)
	}
	h.away = errors.New("redis at 10.0.0.7 is away")
	for _, path := range []string{"/sessions", "/sessions/s1", "/sessions/s1?flow=tea"} {
		if page := s.get(503, path); strings.Contains(page.Words(), "10.0.0.7") {
			t.Errorf("%s: %s", path, page.Words())
		}
	}
}

// A page that is opened all the time reads what is new, not all.
func TestHeldSessionsAreReadOnce(t *testing.T) {
	h := &holder{}
	for i := range 2500 {
		h.put(visited("tea", fmt.Sprint("s", i), "", now.Add(-time.Duration(i)*time.Minute), sessionindex.Open,
			"Hi", "Hello"))
	}
	var clock sync.Mutex
	at := now
	s := heldSite(t, h, nil, func() time.Time { clock.Lock(); defer clock.Unlock(); return at })
	total := func() string { return s.get(200, "/sessions").One("data-list=sessions").Attr["data-total"] }
	if got := total(); got != "2500" || len(h.asked) != 3 {
		t.Fatalf("%s sessions in %d reads", got, len(h.asked))
	}
	h.put(visited("tea", "new", "", now, sessionindex.Open, "Hi", "Hello"))
	if got := total(); got != "2501" || len(h.asked) != 4 || h.asked[3].Since.IsZero() {
		t.Errorf("%s sessions, %d reads", got, len(h.asked))
	}
	h.mu.Lock()
	h.sessions = h.sessions[:1] // the others were erased
	h.mu.Unlock()
	s.get(404, "/sessions/new?flow=tea")
	clock.Lock()
	at = at.Add(time.Minute)
	clock.Unlock()
	if got := total(); got != "1" {
		t.Errorf("%s sessions after the others were erased", got)
	}
}

// A held session becomes an item of a dataset, by the form of its page.
func TestHeldSessionToDataset(t *testing.T) {
	kept, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "rehearse.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kept.Close() })
	open := func(context.Context) (*pages.Stored, error) {
		return &pages.Stored{Sessions: kept.Events(), Datasets: kept.Datasets(), Annotations: kept.Annotations()}, nil
	}
	h := &holder{}
	h.put(visited("tea", "s1", "", now, sessionindex.Open, "Hi", "Hello", "Is there milk?", "Yes"),
		visited("shop", "s1", "", now, sessionindex.Open, "A shoe", "Here"))
	b := newSiteOf(t, func(c *pages.Config) { c.Store, c.Make, c.Live = open, open, h }).browser()
	status, to := b.send("/sessions/s1?flow=tea", "dataset", map[string]string{
		"dataset": "asked", "author": "Ada", "turn": "2",
	})
	if status != 303 || to != "/sessions/s1?flow=tea" {
		t.Fatalf("%d to %s", status, to)
	}
	items := 0
	for item, err := range kept.Datasets().Items(t.Context(), "asked") {
		if items++; err != nil || !strings.Contains(string(item.Input), "Is there milk?") ||
			!strings.Contains(string(item.Input)+string(item.Metadata), "Hello") {
			t.Errorf("%s %s %v", item.Input, item.Metadata, err)
		}
	}
	if items != 1 {
		t.Errorf("%d items", items)
	}
}
