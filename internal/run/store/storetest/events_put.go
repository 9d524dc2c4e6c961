package storetest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/replay"
)

func eventsNone(t *testing.T, events replay.Events) {
	wantEvents(t, events, replay.Filter{})
	putEvents(t, events, 0, 0)
	wantEvents(t, events, replay.Filter{FlowID: "f", From: eventTime, To: eventTime, Types: []string{replay.Message}})
}

func eventsSame(t *testing.T, events replay.Events) {
	full := sampleEvent("e1", "s1", "f1", eventTime)
	bare := replay.Event{ID: "e2", Time: eventTime, Context: json.RawMessage(`{"session_id":"s1"}`), SessionID: "s1"}
	putEvents(t, events, 2, 1, full, bare)
	wantEvents(t, events, replay.Filter{}, full, bare)
}

func eventsTwice(t *testing.T, events replay.Events) {
	first := sampleEvent("e1", "s1", "f1", eventTime)
	other := sampleEvent("e1", "s2", "f2", eventTime.Add(time.Hour))
	putEvents(t, events, 1, 1, first)
	putEvents(t, events, 0, 0, first)
	putEvents(t, events, 0, 0, other)
	putEvents(t, events, 1, 0, other, sampleEvent("e2", "s1", "f1", eventTime), first)
	wantEvents(t, events, replay.Filter{}, first, sampleEvent("e2", "s1", "f1", eventTime))
}

// eventsDuplicates has the second of two events within one statement, one batch, and beyond.
func eventsDuplicates(t *testing.T, events replay.Events) {
	const n = 150
	payload := message(64_000) // so that they are more than a batch
	var put []replay.Event
	for i := range n {
		e := sampleEvent(fmt.Sprintf("e%05d", i), fmt.Sprintf("s%d", i/10), "f",
			eventTime.Add(time.Duration(i)*time.Second))
		e.Payload = payload
		put = append(put, e)
	}
	again := sampleEvent("e00000", "other", "f", eventTime)
	late := sampleEvent("e00149", "other", "f", eventTime)
	put = append([]replay.Event{put[0], again}, append(put[1:], again, late)...)
	putEvents(t, events, n, n/10, put...)
	got, err := collect(t.Context(), events, replay.Filter{})
	if err != nil || len(got) != n {
		t.Fatalf("%d events, %v; want %d", len(got), err, n)
	}
	for _, e := range got {
		if e.SessionID == "other" {
			t.Errorf("event %s is the later one", e.ID)
		}
	}
	few := sampleEvent("few", "s1", "f", eventTime)
	putEvents(t, events, 1, 0, few, sampleEvent("few", "s2", "f", eventTime), few)
}

func eventsCounted(t *testing.T, events replay.Events) {
	at := func(id, session string) replay.Event { return sampleEvent(id, session, "f", eventTime) }
	putEvents(t, events, 3, 2, at("1", "a"), at("2", "b"), at("3", "a"))
	putEvents(t, events, 1, 0, at("1", "a"), at("2", "b"), at("4", "a"))
	putEvents(t, events, 2, 1, at("5", "c"), at("1", "d"), at("6", "a"), at("5", "e"))
}

func eventsPlaces(t *testing.T, events replay.Events) {
	beside := sampleEvent("1", "s", "f", eventTime)
	beside.Context = nil
	within := sampleEvent("2", "s", "f", eventTime)
	within.SessionID, within.FlowID = "", ""
	within.Context = json.RawMessage(`{"nested":{"session_id":"no"},"session_id":"s","flow_id":"f"}`)
	differ := sampleEvent("3", "s", "f", eventTime)
	differ.Context = json.RawMessage(`{"a":{"session_id":"s"},"session_id":7,"Session_ID":"s","flow_id":"g"}`)
	number := sampleEvent("4", "", "", eventTime)
	number.Context = json.RawMessage(`{"session_id":42,"flow_id":null}`)
	putEvents(t, events, 4, 2, beside, within, differ, number)

	beside.Context = json.RawMessage(`{"session_id":"s","flow_id":"f"}`)
	within.SessionID, within.FlowID = "s", "f"
	differ.Context = json.RawMessage(`{"a":{"session_id":"s"},"session_id":"s","Session_ID":"s","flow_id":"f"}`)
	number.SessionID, number.Context = "42", json.RawMessage(`{"session_id":"42","flow_id":null}`)
	wantEvents(t, events, replay.Filter{}, number, beside, within, differ)
	wantIDs(t, events, replay.Filter{FlowID: "f"}, "1", "2", "3")
}

func eventsSessionless(t *testing.T, events replay.Events) {
	none := sampleEvent("1", "", "f", eventTime)
	null, list, empty := none, none, none
	null.Context, list.Context, empty.Context = json.RawMessage(`{"session_id":null}`), json.RawMessage(`["s"]`), nil
	putEvents(t, events, 1, 1, none, null, list, empty, sampleEvent("1", "s", "f", eventTime))
	wantIDs(t, events, replay.Filter{}, "1")
}

func eventsRefused(t *testing.T, events replay.Events) {
	sample := func(change func(*replay.Event)) replay.Event {
		e := sampleEvent("e-1", "s", "f", eventTime)
		change(&e)
		return e
	}
	long := strings.Repeat("x", 513)
	for _, tc := range []struct {
		name, want string
		event      replay.Event
	}{
		{"no id", "has no event_id", sample(func(e *replay.Event) { e.ID = "" })},
		{"a long id", "event_id has 513 bytes", sample(func(e *replay.Event) { e.ID = long })},
		{"a long session", `"e-1": its session_id has 513 bytes`, sample(func(e *replay.Event) { e.SessionID = long })},
		{"a long flow", `"e-1": its flow_id has 513 bytes`, sample(func(e *replay.Event) { e.FlowID = long })},
		{"no JSON", `"e-1": its payload is no JSON`, sample(func(e *replay.Event) {
			e.Payload = json.RawMessage(`{"a":`)
		})},
		{"two values", `"e-1": its metrics is no JSON`, sample(func(e *replay.Event) {
			e.Metrics = json.RawMessage(`1 2`)
		})},
		{"no object", `"e-1": its context is no JSON object`, sample(func(e *replay.Event) {
			e.Context = json.RawMessage(`["s"]`)
		})},
		{"a time out of bounds", `"e-1": its time is in the year 10000`, sample(func(e *replay.Event) {
			e.Time = e.Time.AddDate(7975, 0, 0)
		})},
		{"a time far out", `"e-1": its time is in the year`, sample(func(e *replay.Event) {
			e.Time = time.Unix(1<<60, 0)
		})},
	} {
		added, _, err := events.Put(t.Context(), given(tc.event))
		if added != 0 || err == nil || !strings.Contains(err.Error(), tc.want) || len(err.Error()) > 700 {
			t.Errorf("%s: %d, %v; want %s", tc.name, added, err, tc.want)
		}
	}
	whole := strings.Repeat("y", 512)
	putEvents(t, events, 1, 1, sampleEvent(whole, whole, whole, eventTime))
	wantIDs(t, events, replay.Filter{FlowID: whole}, whole)
}

func eventsCopied(t *testing.T, events replay.Events) {
	want := []replay.Event{sampleEvent("1", "s", "f", eventTime), sampleEvent("2", "s", "f", eventTime)}
	added, _, err := events.Put(t.Context(), func(yield func(replay.Event, error) bool) {
		for _, e := range want {
			mine := bytes.Clone(e.Payload)
			e.Payload = mine
			goOn := yield(e, nil)
			clear(mine)
			if !goOn {
				return
			}
		}
	})
	if added != 2 || err != nil {
		t.Errorf("Put: %d, %v", added, err)
	}
	wantEvents(t, events, replay.Filter{}, want...)
}

func eventsInputError(t *testing.T, events replay.Events) {
	broken := errors.New("line 151 is broken")
	const n = 150
	payload := message(64_000) // so that they are more than a batch
	input := func(end error) func(yield func(replay.Event, error) bool) {
		return func(yield func(replay.Event, error) bool) {
			for i := range n {
				e := sampleEvent(fmt.Sprint(i), fmt.Sprint("s", i%100), "f", eventTime)
				e.Payload = payload
				if !yield(e, nil) {
					return
				}
			}
			if end != nil && yield(replay.Event{}, end) {
				t.Error("Put went on after an error")
			}
		}
	}
	first, _, err := events.Put(t.Context(), input(broken))
	if !errors.Is(err, broken) || first > n {
		t.Errorf("Put: %d, %v", first, err)
	}
	kept, err := collect(t.Context(), events, replay.Filter{})
	if err != nil || len(kept) != first {
		t.Errorf("%d events, %v; Put told %d", len(kept), err, first)
	}
	rest, _, err := events.Put(t.Context(), input(nil))
	if err != nil || first+rest != n {
		t.Errorf("Put again: %d, %v; want %d", rest, err, n-first)
	}
}

// eventsAtOnce has overlapping events put in different orders, so that whoever waits for another could be waited for.
func eventsAtOnce(t *testing.T, events replay.Events) {
	const writers, n = 6, 1_000
	var mu sync.Mutex
	var wg sync.WaitGroup
	total := 0
	for w := range writers {
		wg.Go(func() {
			var put []replay.Event
			for i := range n {
				k := (i*(2*w+1) + w*150) % (2 * n)
				put = append(put, sampleEvent(fmt.Sprintf("e%05d", k), fmt.Sprint("s", k%50), "f", eventTime))
			}
			for part := range 3 { // in pieces, some of them small
				cut := [][2]int{{0, 500}, {500, 560}, {560, n}}[part]
				added, _, err := events.Put(t.Context(), given(put[cut[0]:cut[1]]...))
				if err != nil {
					t.Errorf("Put: %v", err)
				}
				mu.Lock()
				total += added
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	got, err := collect(t.Context(), events, replay.Filter{})
	if err != nil || len(got) != total {
		t.Errorf("%d events, %v; Put told %d", len(got), err, total)
	}
}
