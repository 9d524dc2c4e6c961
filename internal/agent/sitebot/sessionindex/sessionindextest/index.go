// Package sessionindextest holds what every store of sessions with a register has to fulfil.
package sessionindextest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/graph"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/sessionindex"
)

// Store is what is checked.
type Store interface {
	graph.Checkpointer
	sessionindex.Index
	Erase(ctx context.Context, thread, site, session string) error
}

// Run checks an implementation; open returns two views of one empty store that keeps sessions for an hour or longer, as
// two processes have them, and closes them through t.Cleanup. They may be the same.
func Run(t *testing.T, open func(t *testing.T) (one, two Store)) {
	for name, check := range map[string]func(*testing.T, Store, Store){
		"a row is saved with its turn": checkSaved,
		"a conflict changes nothing":   checkConflict,
		"list":                         checkList,
		"pages while visitors write":   checkPages,
		"outcomes":                     checkOutcomes,
		"notes":                        checkNotes,
		"failures are bounded":         checkFailures,
		"thumbs":                       checkThumbs,
		"states that are put there":    checkInjected,
		"what is to be logged":         checkPending,
		"visitors who leave":           checkLeft,
		"erase":                        checkErased,
	} {
		t.Run(name, func(t *testing.T) {
			one, two := open(t)
			check(t, one, two)
		})
	}
}

// start is when the checks begin. It is now, as stores let sessions expire by their own clock.
func start() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

const site = "tea.example"

// answered saves the next turn of a session.
func answered(t *testing.T, s Store, session string, number int, at time.Time, changes ...func(*sessionindex.Entry)) {
	t.Helper()
	e := sessionindex.Entry{
		Site: site, Session: session, At: at, Turns: number, Route: "ANSWER", Language: "en",
		Turn: &sessionindex.Turn{
			Number: number, Checkpoint: fmt.Sprintf("%04d", number), Route: "ANSWER", Action: "EDUCATE",
			Intent: "LEARN", Started: at.Add(-time.Second), At: at, Latency: 12.5, Tokens: 7, Warnings: []string{},
			TraceID: "abc", Person: "p",
		},
	}
	for _, change := range changes {
		change(&e)
	}
	save(t, s, e, number)
}

func save(t *testing.T, s Store, e sessionindex.Entry, number int) {
	t.Helper()
	if err := s.SaveTurn(t.Context(), sessionindex.Thread(e.Site, e.Session), record(number), nil, e); err != nil {
		t.Fatal(err)
	}
}

func record(n int) graph.Record {
	r := graph.Record{
		ID: fmt.Sprintf("%04d", n), Turn: n, Source: graph.SourceTurn, At: time.Now(), Values: []byte(`{}`),
	}
	if n > 1 {
		r.Parent = fmt.Sprintf("%04d", n-1)
	}
	return r
}

// sessions lists what a query selects, by id.
func sessions(t *testing.T, s Store, q sessionindex.Query) string {
	t.Helper()
	if q.Limit == 0 {
		q.Limit = 100
	}
	rows, err := s.Sessions(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, r := range rows {
		ids = append(ids, r.Session)
	}
	return strings.Join(ids, " ")
}

func want(t *testing.T, what, got, wanted string) {
	t.Helper()
	if got != wanted {
		t.Errorf("%s: %q, want %q", what, got, wanted)
	}
}

func kept(t *testing.T, s Store, session string) *sessionindex.Stored {
	t.Helper()
	k, err := s.Session(t.Context(), site, session)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func note(t *testing.T, s Store, session string, n sessionindex.Note) bool {
	t.Helper()
	there, err := s.Note(t.Context(), site, session, n)
	if err != nil {
		t.Fatal(err)
	}
	return there
}

func checkSaved(t *testing.T, one, two Store) {
	at := start()
	answered(t, one, "a", 1, at)
	answered(t, two, "a", 2, at.Add(time.Second), func(e *sessionindex.Entry) {
		e.Email, e.Person, e.Language = true, "p", ""
	})
	k := kept(t, one, "a")
	if k == nil {
		t.Fatal("there is no such session")
	}
	row := sessionindex.Row{
		Site: site, Session: "a", Started: at.Add(-time.Second), Last: at.Add(time.Second), Turns: 2, Language: "en",
		Outcome: sessionindex.Open, Route: "ANSWER", Email: true, Person: "p",
	}
	if d := cmp.Diff(row, k.Row); d != "" {
		t.Errorf("row (-want +got):\n%s", d)
	}
	if len(k.Turns) != 2 || k.Turns[1].Checkpoint != "0002" || k.Turns[1].Latency != 12.5 || !k.Turns[0].At.Equal(at) {
		t.Errorf("turns %+v", k.Turns)
	}
	if k := kept(t, one, "b"); k != nil {
		t.Errorf("%+v", k)
	}
	if records, err := one.Load(t.Context(), sessionindex.Thread(site, "a"), ""); len(records) != 2 || err != nil {
		t.Errorf("%d records, %v", len(records), err)
	}
}

func checkConflict(t *testing.T, one, two Store) {
	answered(t, one, "a", 1, start())
	e := sessionindex.Entry{Site: site, Session: "a", At: start(), Turns: 7, Turn: &sessionindex.Turn{Number: 7}}
	if err := two.SaveTurn(t.Context(), sessionindex.Thread(site, "a"),
		graph.Record{ID: "0009", Parent: "0008", Values: []byte(`{}`)}, nil, e); !errors.Is(err, graph.ErrConflict) {
		t.Fatalf("error %v", err)
	}
	if k := kept(t, one, "a"); k.Row.Turns != 1 || len(k.Turns) != 1 {
		t.Errorf("%+v", k)
	}
}

func checkList(t *testing.T, one, two Store) {
	at := start()
	for i, id := range []string{"a", "b", "c", "d", "e"} {
		answered(t, one, id, 1, at.Add(time.Duration(i/2)*time.Second))
	}
	answered(t, one, "other", 1, at, func(e *sessionindex.Entry) { e.Site = "coffee.example" })
	want(t, "all of a site", sessions(t, two, sessionindex.Query{Site: site}), "e d c b a")
	want(t, "of all sites", sessions(t, two, sessionindex.Query{}), "e d c b a other")
	want(t, "since", sessions(t, two, sessionindex.Query{Site: site, Since: at.Add(time.Second)}), "e d c")
	want(t, "until", sessions(t, two, sessionindex.Query{Site: site, Until: at.Add(time.Second)}), "b a")
	want(t, "of nobody", sessions(t, two, sessionindex.Query{Site: "milk.example"}), "")
	var all []string
	q := sessionindex.Query{Site: site, Limit: 2}
	for range 4 {
		rows, err := two.Sessions(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			all = append(all, r.Session)
			if q.After, err = sessionindex.ParseCursor(r.Cursor().String()); err != nil {
				t.Fatal(err)
			}
		}
	}
	want(t, "by pages", strings.Join(all, " "), "e d c b a")
	answered(t, one, "a", 2, at.Add(time.Minute))
	want(t, "after another message", sessions(t, two, sessionindex.Query{Site: site}), "a e d c b")
}

// checkPages checks that pages have every session that exists all the time, whatever visitors write meanwhile, and have
// it once if they write nothing.
func checkPages(t *testing.T, one, two Store) {
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	now, turns, last := start(), map[string]int{}, map[string]time.Time{}
	write := func(session string) {
		t.Helper()
		now = now.Add(time.Millisecond)
		turns[session]++
		// what is saved late, or on a server with another clock
		at := now.Add(-time.Duration(random.IntN(2 * int(time.Second)))).Truncate(time.Microsecond)
		if at.Before(last[session]) {
			at = now
		}
		last[session] = at
		answered(t, one, session, turns[session], at)
	}
	for round := range 12 {
		for range 5 {
			write(fmt.Sprint("s", len(turns)))
		}
		quiet := round%4 == 3
		there, seen := slices.Sorted(maps.Keys(turns)), map[string]int{}
		q := sessionindex.Query{Site: site, Limit: 1 + random.IntN(7)}
		for pages, next := 0, "."; next != ""; pages++ {
			rows, cursor, err := sessionindex.Page(t.Context(), two, q, now, nil)
			if err != nil || pages > 2*len(turns)+1 || len(rows) > q.Limit {
				t.Fatalf("seed %d: page %d has %d rows, %v", seed, pages, len(rows), err)
			}
			for _, r := range rows {
				seen[r.Session]++
			}
			if next = cursor; next != "" {
				if q.After, err = sessionindex.ParseCursor(next); err != nil {
					t.Fatal(err)
				}
			}
			for range random.IntN(4) {
				if session := fmt.Sprint("s", random.IntN(len(turns)+1)); !quiet {
					write(session)
				}
			}
		}
		for _, session := range there {
			if n := seen[session]; n < 1 || n > 2 || quiet && n != 1 {
				t.Errorf("seed %d, round %d: %s was listed %d times", seed, round, session, n)
			}
		}
	}
}

func checkOutcomes(t *testing.T, one, two Store) {
	at := start()
	answered(t, one, "open", 1, at)
	answered(t, one, "won", 1, at, func(e *sessionindex.Entry) { e.Converted = true })
	for _, id := range []string{"blocked", "failed", "mended", "won"} {
		if id != "won" {
			answered(t, one, id, 1, at)
		}
		later := at.Add(time.Second)
		if id == "blocked" || id == "won" {
			note(t, two, id, sessionindex.Note{Blocked: &later})
		} else {
			note(t, two, id, sessionindex.Note{Failure: &sessionindex.Failure{At: later, Code: "turn_failed"}})
		}
	}
	answered(t, one, "mended", 2, at.Add(2*time.Second))
	for outcome, ids := range map[sessionindex.Outcome]string{
		sessionindex.Open: "mended open", sessionindex.Converted: "won", sessionindex.Blocked: "blocked",
		sessionindex.Failed: "failed",
	} {
		want(t, string(outcome), sessions(t, one, sessionindex.Query{Site: site, Outcome: outcome}), ids)
	}
	if r := kept(t, one, "mended").Row; r.Failed != 1 || r.Outcome != sessionindex.Open ||
		!r.Last.Equal(at.Add(2*time.Second)) {
		t.Errorf("%+v", r)
	}
}

func checkNotes(t *testing.T, one, two Store) {
	at := start()
	if note(t, one, "none", sessionindex.Note{Blocked: &at}) || note(t, one, "none", sessionindex.Note{
		Feedback: &sessionindex.Feedback{Turn: 1, Rating: sessionindex.Up, At: at},
	}) {
		t.Error("something was noted of a session that there is not")
	}
	want(t, "sessions", sessions(t, one, sessionindex.Query{}), "")
	// A session may begin with a failure.
	if !note(t, one, "new", sessionindex.Note{
		Failure: &sessionindex.Failure{At: at, Code: "turn_failed"}, Language: "fr",
	}) {
		t.Error("a failure was not noted")
	}
	k := kept(t, two, "new")
	if k == nil || k.Row.Outcome != sessionindex.Failed || k.Row.Turns != 0 || k.Row.Failed != 1 ||
		k.Row.Language != "fr" || len(k.Failures) != 1 || k.Failures[0].Code != "turn_failed" {
		t.Fatalf("%+v", k)
	}
	answered(t, two, "new", 1, at.Add(time.Second))
	if r := kept(t, one, "new").Row; r.Outcome != sessionindex.Open || r.Turns != 1 || r.Failed != 1 ||
		!r.Started.Equal(at) {
		t.Errorf("%+v", r)
	}
}

func checkFailures(t *testing.T, one, two Store) {
	at := start()
	for i := range sessionindex.MaxFailures + 3 {
		note(t, one, "a", sessionindex.Note{Failure: &sessionindex.Failure{
			At: at.Add(time.Duration(i) * time.Millisecond), Code: fmt.Sprint("c", i),
		}})
	}
	k := kept(t, two, "a")
	if k.Row.Failed != sessionindex.MaxFailures+3 || len(k.Failures) != sessionindex.MaxFailures ||
		k.Failures[0].Code != "c3" {
		t.Errorf("%d counted, %d kept, the first is %+v", k.Row.Failed, len(k.Failures), k.Failures[0])
	}
}

func checkThumbs(t *testing.T, one, two Store) {
	at := start()
	answered(t, one, "a", 1, at)
	answered(t, one, "a", 2, at)
	rate := func(turn int, rating, comment string) {
		note(t, two, "a", sessionindex.Note{Feedback: &sessionindex.Feedback{
			Turn: turn, Rating: rating, Comment: comment, At: at,
		}})
	}
	rate(2, sessionindex.Up, "")
	rate(1, sessionindex.Up, "fine")
	rate(1, sessionindex.Down, "no, it is not")
	k := kept(t, one, "a")
	feedback := []sessionindex.Feedback{
		{Turn: 1, Rating: sessionindex.Down, Comment: "no, it is not", At: at},
		{Turn: 2, Rating: sessionindex.Up, At: at},
	}
	if d := cmp.Diff(feedback, k.Feedback); d != "" || k.Row.Feedback != (sessionindex.Thumbs{Up: 1, Down: 1}) {
		t.Errorf("counted %+v; feedback (-want +got):\n%s", k.Row.Feedback, d)
	}
	if !k.Row.Last.Equal(at) || k.Row.Outcome != sessionindex.Open {
		t.Errorf("a thumb is no message: %+v", k.Row)
	}
}

// What was put there was not answered, and is not logged. The notes of turns that there are no more go.
func checkInjected(t *testing.T, one, two Store) {
	at := start()
	save(t, one, sessionindex.Entry{Site: site, Session: "a", At: at, Turns: 3}, 1)
	if r := kept(t, two, "a").Row; r.Turns != 3 || r.Logged != 3 || r.Outcome != sessionindex.Open {
		t.Errorf("%+v", r)
	}
	pending := func(wanted string) {
		t.Helper()
		rows, err := two.Pending(t.Context(), at.Add(time.Hour), 10)
		if err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		for _, r := range rows {
			fmt.Fprint(&got, r.Session, r.Logged, " ")
		}
		want(t, "pending", strings.TrimSpace(got.String()), wanted)
	}
	pending("")
	for n := 4; n <= 5; n++ {
		e := sessionindex.Entry{Site: site, Session: "a", At: at, Turns: n, Turn: &sessionindex.Turn{Number: n}}
		save(t, one, e, n-2)
		note(t, one, "a", sessionindex.Note{Feedback: &sessionindex.Feedback{Turn: n, Rating: sessionindex.Up, At: at}})
	}
	pending("a3")
	// such as a count of repeated messages
	save(t, one, sessionindex.Entry{Site: site, Session: "a", At: at, Turns: 5}, 4)
	pending("a3")
	save(t, two, sessionindex.Entry{Site: site, Session: "a", At: at, Turns: 4}, 5)
	k := kept(t, one, "a")
	if len(k.Turns) != 1 || len(k.Feedback) != 1 || k.Row.Feedback.Up != 1 || k.Row.Logged != 4 {
		t.Errorf("%+v", k)
	}
}

func checkPending(t *testing.T, one, two Store) {
	at := start()
	long := at.Add(-time.Hour)
	answered(t, one, "b", 1, at.Add(time.Second))
	answered(t, one, "a", 1, at)
	pending := func(wanted string) {
		t.Helper()
		rows, err := two.Pending(t.Context(), long, 10)
		if err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		for _, r := range rows {
			fmt.Fprint(&got, r.Session, r.Logged, "/", r.Turns, " ")
		}
		want(t, "pending", strings.TrimSpace(got.String()), wanted)
	}
	pending("a0/1 b0/1")
	logged := func(session string, turn int, wanted bool) {
		t.Helper()
		if there, err := one.Logged(t.Context(), site, session, turn, false); err != nil || there != wanted {
			t.Errorf("%s is there: %t, %v", session, there, err)
		}
	}
	logged("a", 1, true)
	logged("none", 1, false)
	pending("b0/1")
	answered(t, one, "a", 2, at.Add(2*time.Second))
	pending("b0/1 a1/2")
	logged("a", 1, true) // by another process, which is late
	pending("b0/1 a1/2")
	logged("b", 1, true)
	logged("a", 2, true)
	pending("")
}

func checkLeft(t *testing.T, one, two Store) {
	at := start()
	for _, id := range []string{"a", "b", "won"} {
		answered(t, one, id, 1, at, func(e *sessionindex.Entry) { e.Converted = id == "won" })
		if _, err := one.Logged(t.Context(), site, id, 1, false); err != nil {
			t.Fatal(err)
		}
	}
	left := func(idle time.Time) string {
		t.Helper()
		rows, err := two.Pending(t.Context(), idle, 10)
		if err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		for _, r := range rows {
			got.WriteString(r.Session)
		}
		return got.String()
	}
	want(t, "who talks still", left(at.Add(-time.Millisecond)), "")
	want(t, "who left", left(at), "ab")
	if _, err := one.Logged(t.Context(), site, "a", 1, true); err != nil {
		t.Fatal(err)
	}
	want(t, "once", left(at), "b")
	later := at.Add(time.Second)
	note(t, one, "b", sessionindex.Note{Blocked: &later})
	want(t, "who was refused has not left yet", left(at), "")
	answered(t, two, "a", 2, later)
	if _, err := one.Logged(t.Context(), site, "a", 2, false); err != nil {
		t.Fatal(err)
	}
	want(t, "again, after another message", left(later), "ab")
}

func checkErased(t *testing.T, one, two Store) {
	at := start()
	for _, id := range []string{"a", "b"} {
		answered(t, one, id, 1, at)
		note(t, one, id, sessionindex.Note{Failure: &sessionindex.Failure{At: at, Code: "timeout"}})
		note(t, one, id, sessionindex.Note{Feedback: &sessionindex.Feedback{
			Turn: 1, Rating: sessionindex.Up, Comment: "hm", At: at,
		}})
	}
	note(t, one, "c", sessionindex.Note{Failure: &sessionindex.Failure{At: at, Code: "timeout"}})
	for _, id := range []string{"a", "c"} {
		if err := two.Erase(t.Context(), sessionindex.Thread(site, id), site, id); err != nil {
			t.Fatal(err)
		}
		if k := kept(t, one, id); k != nil {
			t.Errorf("%s: %+v", id, k)
		}
	}
	want(t, "sessions", sessions(t, one, sessionindex.Query{}), "b")
	if err := two.Delete(t.Context(), sessionindex.Thread(site, "b")); err != nil {
		t.Fatal(err)
	}
	want(t, "sessions after another was deleted", sessions(t, one, sessionindex.Query{}), "")
	if rows, err := one.Pending(t.Context(), at.Add(time.Hour), 10); len(rows) != 0 || err != nil {
		t.Errorf("%+v, %v", rows, err)
	}
	answered(t, one, "a", 1, at)
	if k := kept(t, one, "a"); len(k.Feedback)+len(k.Failures) > 0 || k.Row.Failed > 0 {
		t.Errorf("a new session begins with %+v", k)
	}
}
