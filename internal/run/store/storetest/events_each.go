package storetest

import (
	"cmp"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/replay"
)

func eventsOrdered(t *testing.T, events replay.Events) {
	// By bytes: capitals before small letters, "é" and "😀" after all of ASCII, U+FF5E before "😀".
	sessions := []string{" ", "A", "B", "a", "a ", "a-b", "a10", "a2", "ab", "b", "é", "\uFF5E", "😀"}
	ids := []string{"#1", "#10", "#2", "B", "a", "é"}
	var want []replay.Event
	for _, session := range sessions {
		for second := range 3 {
			for _, id := range ids {
				want = append(want, sampleEvent(session+"/"+string(rune('c'-second))+id, session, "f",
					eventTime.Add(time.Duration(second)*time.Microsecond)))
			}
		}
	}
	shuffled := slices.Clone(want)
	rand.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	// Of one time the first that was put comes first.
	want = slices.Clone(shuffled)
	slices.SortStableFunc(want, func(a, b replay.Event) int {
		return cmp.Or(strings.Compare(a.SessionID, b.SessionID), a.Time.Compare(b.Time))
	})
	half := len(want) / 2
	for _, part := range [][]replay.Event{shuffled[:half], shuffled[half:]} {
		if _, _, err := events.Put(t.Context(), given(part...)); err != nil {
			t.Fatal(err)
		}
	}
	wantIDs(t, events, replay.Filter{}, idsOf(want)...)
	wantIDs(t, events, replay.Filter{FlowID: "f"}, idsOf(want)...)
}

// eventsTied puts events of one time, of which some have turn numbers, in parts and all at once.
func eventsTied(t *testing.T, events replay.Events) {
	numbered := func(id, session, metrics string) replay.Event {
		e := sampleEvent(session+id, session, "f", eventTime)
		e.Metrics = json.RawMessage(metrics)
		return e
	}
	for session, together := range map[string]bool{"a": true, "b": false} {
		put := []replay.Event{
			numbered("z", session, `{}`), numbered("y", session, `{"turn_number":2}`),
			numbered("x", session, `{"turn_number":1}`), numbered("w", session, `{"turn_number":"1"}`),
			numbered("v", session, `{"turn_number":1}`), numbered("u", session, `{"turn_number":0.5}`),
		}
		if together {
			putEvents(t, events, len(put), 1, put...)
			continue
		}
		for i, e := range put {
			putEvents(t, events, 1, max(0, 1-i), e)
		}
	}
	wantIDs(t, events, replay.Filter{}, "az", "au", "ax", "aw", "av", "ay", "bz", "bu", "bx", "bw", "bv", "by")
}

// eventsWhole wants every event of the sessions that have one in a range.
func eventsWhole(t *testing.T, events replay.Events) {
	hour := func(n int) time.Time { return eventTime.Add(time.Duration(n) * time.Hour) }
	putEvents(t, events, 7, 4,
		sampleEvent("a1", "a", "f", hour(0)), sampleEvent("a2", "a", "g", hour(9)),
		sampleEvent("b1", "b", "f", hour(5)), sampleEvent("c1", "c", "f", hour(1)), sampleEvent("c2", "c", "", hour(5)),
		sampleEvent("c3", "c", "f", hour(9)), sampleEvent("d1", "d", "f", hour(9)))
	for _, tc := range []struct {
		filter replay.Filter
		want   []string
	}{
		{replay.Filter{EntireSessions: true}, []string{"a1", "a2", "b1", "c1", "c2", "c3", "d1"}},
		{replay.Filter{EntireSessions: true, From: hour(5), To: hour(9)}, []string{"b1", "c1", "c2", "c3"}},
		{replay.Filter{EntireSessions: true, From: hour(9)}, []string{"a1", "a2", "c1", "c2", "c3", "d1"}},
		{replay.Filter{EntireSessions: true, To: hour(1)}, []string{"a1", "a2"}},
		{replay.Filter{EntireSessions: true, From: hour(5), To: hour(6), Types: []string{replay.Completed}}, nil},
		{replay.Filter{EntireSessions: true, From: hour(10)}, nil},
	} {
		wantIDs(t, events, tc.filter, tc.want...)
	}
}

func eventsFiltered(t *testing.T, events replay.Events) {
	hour := func(n int) time.Time { return eventTime.Add(time.Duration(n) * time.Hour) }
	typed := func(e replay.Event, kind string) replay.Event { e.Type = kind; return e }
	putEvents(t, events, 8, 3,
		typed(sampleEvent("1", "a", "f", hour(0)), replay.Started),
		sampleEvent("2", "a", "f", hour(1)),
		typed(sampleEvent("3", "a", "f", hour(2)), replay.Completed),
		sampleEvent("4", "b", "g", hour(0)),
		typed(sampleEvent("5", "b", "g", hour(1)), "page_viewed"),
		typed(sampleEvent("6", "b", "f", hour(2)), replay.DroppedOff),
		sampleEvent("7", "c", "", hour(0)),
		sampleEvent("8", "c", "F", hour(1)),
	)
	for _, tc := range []struct {
		filter replay.Filter
		want   []string
	}{
		{replay.Filter{}, []string{"1", "2", "3", "4", "5", "6", "7", "8"}},
		{replay.Filter{FlowID: "f"}, []string{"1", "2", "3", "6"}},
		{replay.Filter{FlowID: "g"}, []string{"4", "5"}},
		{replay.Filter{FlowID: "none"}, nil},
		{replay.Filter{FlowID: "f' OR '1'='1"}, nil},
		{replay.Filter{FlowID: "f\x00"}, nil},
		{replay.Filter{Types: []string{}}, []string{"1", "2", "3", "4", "5", "6", "7", "8"}},
		{replay.Filter{Types: []string{replay.Message}}, []string{"2", "4", "7", "8"}},
		{
			replay.Filter{Types: []string{replay.Started, replay.Completed, replay.DroppedOff, "none", "\xff"}},
			[]string{"1", "3", "6"},
		},
		{replay.Filter{From: hour(1)}, []string{"2", "3", "5", "6", "8"}},
		{replay.Filter{To: hour(1)}, []string{"1", "4", "7"}},
		{replay.Filter{From: hour(1), To: hour(2)}, []string{"2", "5", "8"}},
		{replay.Filter{From: hour(2), To: hour(1)}, nil},
		{
			replay.Filter{FlowID: "f", From: hour(1), To: hour(3), Types: []string{replay.Message, replay.DroppedOff}},
			[]string{"2", "6"},
		},
	} {
		wantIDs(t, events, tc.filter, tc.want...)
	}
}

func eventsBounds(t *testing.T, events replay.Events) {
	at := func(id string, d time.Duration) replay.Event { return sampleEvent(id, "s", "f", eventTime.Add(d)) }
	putEvents(t, events, 3, 1, at("1", 0), at("2", time.Microsecond), at("3", 2*time.Microsecond))
	for _, tc := range []struct {
		from, to time.Duration
		want     []string
	}{
		{0, time.Microsecond, []string{"1"}},
		{0, 0, nil},
		{1, time.Microsecond + 1, []string{"2"}},
		{0, 2*time.Microsecond - 1, []string{"1", "2"}},
		{-1, 1, []string{"1"}},
		{time.Microsecond, 2*time.Microsecond + 1, []string{"2", "3"}},
	} {
		wantIDs(t, events, replay.Filter{From: eventTime.Add(tc.from), To: eventTime.Add(tc.to)}, tc.want...)
	}
	far := []time.Time{time.Date(-290_000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(290_000, 1, 1, 0, 0, 0, 0, time.UTC)}
	wantIDs(t, events, replay.Filter{From: far[0], To: far[1]}, "1", "2", "3")
	wantIDs(t, events, replay.Filter{From: far[1]})
	wantIDs(t, events, replay.Filter{To: far[0]})
	zone := time.FixedZone("", -8*3600)
	wantIDs(t, events, replay.Filter{From: eventTime.In(zone), To: eventTime.Add(time.Microsecond).In(zone)}, "1")
}

func eventsTimes(t *testing.T, events replay.Events) {
	kathmandu := time.FixedZone("", 5*3600+45*60)
	var put, want []replay.Event
	for i, at := range []time.Time{
		{}, // the year 1
		time.Date(0, 1, 1, 0, 0, 0, 1000, time.UTC),
		time.Date(1582, 10, 10, 1, 2, 3, 999_999_000, time.UTC),
		time.Date(1969, 12, 31, 23, 59, 59, 999_999_999, time.UTC), // cut, not rounded
		time.Date(1999, 12, 31, 23, 59, 59, 999_999_500, time.UTC),
		time.Date(2024, 2, 29, 23, 59, 60, 1_999, kathmandu),
		time.Date(2025, 3, 30, 2, 30, 0, 123_456_789, time.Local),
		time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC),
	} {
		e := sampleEvent(string(rune('a'+i)), string(rune('a'+i)), "f", at)
		put = append(put, e)
		e.Time = at.UTC().Truncate(time.Microsecond)
		want = append(want, e)
	}
	putEvents(t, events, len(put), len(put), put...)
	wantEvents(t, events, replay.Filter{}, want...)
}
