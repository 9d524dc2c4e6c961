package storetest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/run/store"
)

// RunEventsAdd runs the conformance tests of Add on the events that open returns, of which there are none yet. They end
// with the test.
func RunEventsAdd(t *testing.T, open func(t *testing.T) *store.Events) {
	t.Run("the new ones among events are told", func(t *testing.T) { eventsAdded(t, open(t)) })
	t.Run("a session's digest tells whether its events are others", func(t *testing.T) { eventsDigested(t, open(t)) })
	t.Run("events are added all or none", func(t *testing.T) { eventsAddedNone(t, open(t)) })
}

func eventsAdded(t *testing.T, events *store.Events) {
	for _, tc := range []struct {
		put  string
		want []bool
	}{
		{"", nil},
		{"bac", []bool{true, true, true}},
		{"abdd", []bool{false, false, true, false}},
		{"ee\x00\xffa", []bool{true, false, true, false, false}},
	} {
		var put []replay.Event
		for _, id := range tc.put { // of which the last but one is no UTF-8: U+FFFD, as is NUL
			put = append(put, sampleEvent(string(id), "s", "f", eventTime))
		}
		got, err := events.Add(t.Context(), put)
		if !slices.Equal(got, tc.want) || err != nil {
			t.Errorf("Add(%q): %v, %v; want %v", tc.put, got, err, tc.want)
		}
	}
	wantIDs(t, events, replay.Filter{}, "b", "a", "c", "d", "e", "\uFFFD")
	var many []replay.Event
	for i := range 1_200 {
		many = append(many, sampleEvent(strings.Repeat("x", i%600/10)+string(rune('0'+i%10)), "s", "f", eventTime))
	}
	got, err := events.Add(t.Context(), many)
	if err != nil || len(got) != len(many) || slices.Contains(got[:600], false) || slices.Contains(got[600:], true) {
		t.Errorf("Add of many: %v, %v", got, err)
	}
}

func eventsAddedNone(t *testing.T, events *store.Events) {
	for want, bad := range map[string]replay.Event{
		"has no event_id":               sampleEvent("", "s", "f", eventTime),
		`event "x": it has no session`:  {ID: "x", Time: eventTime},
		"its time is in the year 10000": sampleEvent("x", "s", "f", time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)),
	} {
		_, err := events.Add(t.Context(), []replay.Event{sampleEvent("a", "s", "f", eventTime), bad})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Add: %v, want %s", err, want)
		}
	}
	wantIDs(t, events, replay.Filter{})
}

func eventsDigested(t *testing.T, events *store.Events) {
	at := eventTime
	digests := func(most int) map[string]uint64 {
		t.Helper()
		all, err := events.Digests(t.Context(), most)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	add := func(id, session string) {
		t.Helper()
		at = at.Add(time.Second)
		if _, err := events.Add(t.Context(), []replay.Event{sampleEvent(id, session, "f", at)}); err != nil {
			t.Fatal(err)
		}
	}
	if got := digests(10); len(got) != 0 {
		t.Errorf("digests without events: %v", got)
	}
	add("1", "a")
	add("2", "b")
	before := digests(10)
	if len(before) != 2 || digests(1) != nil {
		t.Errorf("%v; of more than one: %v", before, digests(1))
	}
	add("1", "a") // it is known
	if d := cmp.Diff(before, digests(10)); d != "" {
		t.Errorf("nothing was added (-before +after):\n%s", d)
	}
	add("3", "b")
	after := digests(10)
	if after["a"] != before["a"] || after["b"] == before["b"] {
		t.Errorf("b has another event: %v, before %v", after, before)
	}
	if err := events.EraseSession(t.Context(), "f", "b"); err != nil {
		t.Fatal(err)
	}
	if erased := digests(10); len(erased) != 1 || erased["a"] != before["a"] {
		t.Errorf("b is erased: %v", erased)
	}
	add("4", "b") // in the places of those that are gone
	add("5", "b")
	if again := digests(10); again["b"] == after["b"] || again["b"] == before["b"] {
		t.Errorf("b has others: %v", again)
	}
}
