package storetest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"rehearse/internal/replay"
	"rehearse/internal/store"
)

// RunEventsAdd runs the conformance tests of Add on the events that open returns, of which there are none yet. They end with the test.
func RunEventsAdd(t *testing.T, open func(t *testing.T) *store.Events) {
	t.Run("the new ones among events are told", func(t *testing.T) { eventsAdded(t, open(t)) })
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
