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

// TestLaterExport imports an export, then later ones: each adds the rows that the others lack, in any order and format,
// and messages that are alike all stay.
func TestLaterExport(t *testing.T) {
	csv := func(rows ...string) string {
		return "session_id,timestamp,sender,text,outcome\n" + strings.Join(rows, "\n")
	}
	chat := func(messages ...string) string {
		return `{"id":"s","timestamp":"2026-03-01T10:00:00Z","messages":[` + strings.Join(messages, ",") + `]}`
	}
	message := func(role, text, at string) string {
		return `{"role":"` + role + `","content":"` + text + `","timestamp":"2026-03-01T10:00:0` + at + `Z"}`
	}
	one, late, end := "s,2026-03-01T10:00:00Z,user,yes,", "s,2026-03-01T10:00:04Z,user,no,",
		"s,2026-03-01T10:00:09Z,bot,bye,completed"
	for name, tc := range map[string]struct {
		files []string
		added []int
	}{
		"a late row":             {[]string{csv(one, end), csv(one, late, end), csv(late)}, []int{3, 1, 0}},
		"the later export first": {[]string{csv(one, late, end), csv(end, one)}, []int{4, 0}},
		"rows that are alike":    {[]string{csv(one, one, end), csv(end, one, one, one)}, []int{4, 1}},
		"rows of other names": {
			[]string{csv(one), "conversation_id,time,role,content\ns,2026-03-01 10:00:00+00,Customer,yes"}, []int{1, 0},
		},
		"chats": {
			[]string{
				chat(message("user", "yes", "1"), message("bot", "bye", "9")),
				chat(message("user", "yes", "1"), message("user", "yes", "1"), message("bot", "bye", "9")),
			}, []int{3, 1},
		},
		"chats of one id": {
			[]string{chat(`{"role":"user","content":"yes"}`) + "\n" + strings.Replace(
				chat(`{"role":"user","content":"yes"}`), "03-01", "03-09", 1)}, []int{4},
		},
	} {
		store := &memory{}
		for i, file := range tc.files {
			r, err := importer.Import(t.Context(), inputs(file), store, importer.Options{})
			if err != nil || r.Imported != tc.added[i] || r.Conflicting != 0 || r.Rejected != 0 {
				t.Errorf("%s: import %d: %+v, %v", name, i, r, err)
			}
		}
	}
}

// TestEndsOfAnIDUsedAgain gives each conversation of a session id its own end, in any order of the rows.
func TestEndsOfAnIDUsedAgain(t *testing.T) {
	rows := []string{
		"s,2026-03-01T10:00:00Z,user,a,completed", "s,2026-03-01T10:00:05Z,bot,b,completed",
		"s,2026-03-04T10:00:00Z,user,c,", "s,2026-03-04T10:00:05Z,bot,d,dropped_off",
		"s,2026-03-08T10:00:00Z,user,e,", "s,2026-03-08T10:00:05Z,bot,f,",
	}
	backward := slices.Clone(rows)
	slices.Reverse(backward)
	mixed := []string{rows[5], rows[0], rows[3], rows[1], rows[4], rows[2]}
	for _, order := range [][]string{rows, backward, mixed} {
		store := &memory{}
		text := "session_id,timestamp,sender,text,outcome\n" + strings.Join(order, "\n")
		if _, err := importer.Import(t.Context(), inputs(text), store, importer.Options{FlowID: "f"}); err != nil {
			t.Fatal(err)
		}
		slices.SortStableFunc(store.events, func(a, b replay.Event) int { return a.Time.Compare(b.Time) })
		var got []string
		for s, err := range replay.Sessions(each(store.events), 0, &replay.Faults{}) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, s.Outcome()+" "+s.Messages[0].Text)
		}
		if want := []string{"completed a", "dropped c", "unknown e"}; !slices.Equal(got, want) {
			t.Errorf("%q: %q", order, got)
		}
	}
}

// TestNegativeLatency checks that every format stores a negative latency, which sessions count as unknown.
func TestNegativeLatency(t *testing.T) {
	for format, text := range map[string]string{
		"csv":  "session_id,timestamp,sender,text,latency_ms\ns,1,user,a,\ns,2,bot,b,-5\n",
		"chat": `{"id":"s","timestamp":1,"messages":[{"role":"bot","content":"b","latency_ms":-5}]}`,
		"langfuse": `{"id":"1","sessionId":"s","timestamp":"2026-03-01T00:00:00Z","latency":-0.005,` +
			`"input":"a","output":"b"}`,
		"otel": `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"t","spanId":"u",` +
			`"startTimeUnixNano":"1700000000005000000","endTimeUnixNano":"1700000000000000000",` +
			`"attributes":[{"key":"gen_ai.input.messages","value":{"stringValue":` +
			`"[{\"role\":\"user\",\"content\":\"a\"}]"}},` +
			`{"key":"gen_ai.output.messages","value":{"stringValue":` +
			`"[{\"role\":\"assistant\",\"content\":\"b\"}]"}}]}]}]}]}`,
	} {
		store, faults := &memory{}, replay.Faults{}
		r, err := importer.Import(t.Context(), inputs(text), store, importer.Options{})
		if err != nil || r.Rejected != 0 {
			t.Errorf("%s: %+v, %v", format, r, err)
		}
		for s, err := range replay.Sessions(each(store.events), 0, &faults) {
			for _, m := range s.Messages {
				if err != nil || m.LatencyMS != nil {
					t.Errorf("%s: %v, %v", format, m, err)
				}
			}
		}
		if faults.Counts["negative_latency"] != 1 {
			t.Errorf("%s: %v", format, faults.Counts)
		}
	}
}
