package storetest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math/big"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/replay"
)

// RunEvents runs every conformance test on the events that open returns, of which there are none yet. They end with the
// test.
func RunEvents(t *testing.T, open func(t *testing.T) replay.Events) {
	for _, tc := range []struct {
		name string
		test func(*testing.T, replay.Events)
	}{
		{"nothing is nothing", eventsNone},
		{"an event comes back as it was put", eventsSame},
		{"an event that is put again changes nothing", eventsTwice},
		{"of events with one id the first counts", eventsDuplicates},
		{"added events and their sessions are counted", eventsCounted},
		{"what becomes of imported events is counted", eventsImported},
		{"session and flow are known from either place", eventsPlaces},
		{"an event without a session is passed over", eventsSessionless},
		{"what cannot be kept is an error that names it", eventsRefused},
		{"what was put may be changed afterwards", eventsCopied},
		{"an error of the input ends Put", eventsInputError},
		{"many put the same events at once", eventsAtOnce},
		{"events come ordered by session and time, and then as they arrived", eventsOrdered},
		{"events of one time come by turn number where they have one", eventsTied},
		{"sessions come whole", eventsWhole},
		{"a filter chooses", eventsFiltered},
		{"reading begins behind a session", eventsFrom},
		{"bounds of time are half open and exact", eventsBounds},
		{"times are exact to the microsecond, in every zone", eventsTimes},
		{"odd JSON is the same value", eventsJSON},
		{"what JSONB cannot hold is replaced", eventsReplaced},
		{"odd text stays apart", eventsText},
		{"large messages", eventsLarge},
		{"many events in constant memory", eventsMany},
		{"reading may end early, be nested, and be mixed with writing", eventsNested},
		{"a cancelled context ends a call", eventsCancelled},
	} {
		t.Run(tc.name, func(t *testing.T) { tc.test(t, open(t)) })
	}
}

var eventTime = time.Date(2025, 3, 1, 12, 0, 0, 123456000, time.UTC)

// sampleEvent is a message of a session in a flow.
func sampleEvent(id, session, flow string, at time.Time) replay.Event {
	context, _ := json.Marshal(map[string]string{"session_id": session, "flow_id": flow, "current_state": "start"})
	return replay.Event{
		ID: id, Type: replay.Message, UnitType: "user", UnitID: "u-1",
		Experiments: json.RawMessage(`[]`), Context: context,
		Metrics: json.RawMessage(`{"turn_number":1}`),
		Payload: json.RawMessage(`{"sender":"user","message_text":"Hello"}`), Time: at, SessionID: session,
		FlowID: flow,
	}
}

// given are events as an input without errors.
func given(events ...replay.Event) iter.Seq2[replay.Event, error] {
	return func(yield func(replay.Event, error) bool) {
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// putEvents puts events and wants to be told so many new ones and sessions.
func putEvents(t *testing.T, events replay.Events, added, sessions int, put ...replay.Event) {
	t.Helper()
	a, s, err := events.Put(t.Context(), given(put...))
	if a != added || s != sessions || err != nil {
		t.Errorf("Put of %d events: %d added in %d sessions, %v; want %d in %d", len(put), a, s, err, added, sessions)
	}
}

// wantEvents wants exactly these, in this order.
func wantEvents(t *testing.T, events replay.Events, f replay.Filter, want ...replay.Event) {
	t.Helper()
	got, err := collect(t.Context(), events, f)
	if err != nil {
		t.Errorf("Each(%+v): %v", f, err)
	}
	if diff := cmp.Diff(want, got, sameJSON, sameTime); diff != "" {
		t.Errorf("Each(%+v): -want +got:\n%s", f, diff)
	}
}

// wantIDs wants exactly these, in this order.
func wantIDs(t *testing.T, events replay.Events, f replay.Filter, want ...string) {
	t.Helper()
	got, err := collect(t.Context(), events, f)
	if ids := idsOf(got); err != nil || !slices.Equal(ids, want) {
		t.Errorf("Each(%+v): %q, %v; want %q", f, ids, err, want)
	}
}

func idsOf(events []replay.Event) (ids []string) {
	for _, e := range events {
		ids = append(ids, e.ID)
	}
	return ids
}

func collect(ctx context.Context, events replay.Events, f replay.Filter) (all []replay.Event, err error) {
	for e, err := range events.Each(ctx, f) {
		if err != nil {
			return all, err
		}
		all = append(all, e)
	}
	return all, nil
}

// sameTime compares times as they are told, not only when they are.
var sameTime = cmp.Comparer(func(a, b time.Time) bool {
	return a.UTC().String() == b.String() || b.UTC().String() == a.String()
})

// sameJSON compares values, numbers exactly.
var sameJSON = cmp.Comparer(func(a, b json.RawMessage) bool {
	return (a == nil) == (b == nil) && (bytes.Equal(a, b) || exactJSON(a) == exactJSON(b))
})

// exactJSON writes a value in the one way in which all that are the same are written.
func exactJSON(raw json.RawMessage) string {
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return fmt.Sprintf("%v: %s", err, raw)
	}
	text, _ := json.Marshal(exact(v))
	return string(text)
}

// exact makes fractions of numbers, which are the same however they are written.
func exact(v any) any {
	switch v := v.(type) {
	case json.Number:
		r, _ := new(big.Rat).SetString(v.String())
		return map[string]string{"number": r.RatString()}
	case []any:
		for i := range v {
			v[i] = exact(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = exact(v[key])
		}
	}
	return v
}
