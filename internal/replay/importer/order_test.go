package importer_test

import (
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/replay/importer"
)

// taxi is a session whose rows say only where each turn led to, the answers among them with their own times.
var taxi = []string{
	"s,2026-03-01T10:00:00Z,user,a taxi,,",
	"s,2026-03-01T10:00:01Z,bot,Where to?,where,",
	"s,2026-03-01T10:00:05Z,user,home,,250",
	"s,2026-03-01T10:00:06Z,bot,When?,when,",
	"s,2026-03-01T10:00:09Z,user,er,,",
	"s,2026-03-01T10:00:10Z,bot,When?,,",
	"s,2026-03-01T10:00:15Z,user,now,,",
	"s,2026-03-01T10:00:16Z,bot,It comes.,bye,",
}

const taxiHead = "session_id,timestamp,sender,text,next_state,latency_ms\n"

// paths are the sessions of a store: the states around each message of the user's, with what was said and the latency
// of the answer.
func paths(t *testing.T, store *memory) []string {
	t.Helper()
	events := slices.Clone(store.events)
	slices.SortStableFunc(events, func(a, b replay.Event) int { return a.Time.Compare(b.Time) })
	var all []string
	for s, err := range replay.Sessions(each(events), 0, &replay.Faults{}) {
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range s.Messages {
			line := m.Text
			if m.User {
				line = m.Before + " > " + m.Text + " > " + m.After
			} else if m.LatencyMS != nil {
				line += " after a while"
			}
			all = append(all, line)
		}
	}
	return all
}

// each yields events.
func each(events []replay.Event) func(func(replay.Event, error) bool) {
	return func(yield func(replay.Event, error) bool) {
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// TestStatesInAnyOrder reads rows that say no state before a turn: it is that behind the turn before, in time, whether
// the rows come the newest first or in several files.
func TestStatesInAnyOrder(t *testing.T) {
	want := []string{
		" > a taxi > where", "Where to?", "where > home > when", "When? after a while", "when > er > when", "When?",
		"when > now > bye", "It comes.",
	}
	backward := slices.Clone(taxi)
	slices.Reverse(backward)
	file := func(rows []string) string { return taxiHead + strings.Join(rows, "\n") }
	for name, files := range map[string][]string{
		"as it was said": {file(taxi)}, "newest first": {file(backward)},
		"in two files":         {file(taxi[:4]), file(taxi[4:])},
		"the later file first": {file(taxi[4:]), file(taxi[:4])},
	} {
		store := &memory{}
		for _, text := range files {
			if _, err := importer.Import(t.Context(), inputs(text), store, importer.Options{FlowID: "f"}); err != nil {
				t.Fatal(err)
			}
		}
		if diff := gocmp.Diff(want, paths(t, store)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}

// TestOverlap imports traces twice, the second time with others beside them. What is kept of a trace is the same both
// times.
func TestOverlap(t *testing.T) {
	trace := func(id, at, said, next string) string {
		return `{"id":"` + id + `","sessionId":"s","timestamp":"2026-03-01T10:0` + at + `:00Z","input":"` + said +
			`","output":"ok","metadata":{"next_state":"` + next + `"}}`
	}
	one, two, three := trace("1", "0", "a taxi", "where"), trace("2", "1", "home", "when"),
		trace("3", "2", "now", "bye")
	store := &memory{}
	for _, text := range []string{one, two + "\n" + three, three + "\n" + two + "\n" + one} {
		r, err := importer.Import(t.Context(), inputs(text), store, importer.Options{From: "langfuse"})
		if err != nil || r.Conflicting != 0 {
			t.Errorf("%+v, %v", r, err)
		}
	}
	if want, got := []string{" > a taxi > where", "ok", "where > home > when", "ok", "when > now > bye", "ok"},
		paths(t, store); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}
