package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/testkit/race"
)

// message is a payload with a text of so many bytes, hard to compress. It is written as JSONB writes it, so that it
// comes back byte for byte and costs little to compare.
func message(size int) json.RawMessage {
	const start, end = `{"sender": "user", "message_text": "`, `"}`
	text := make([]byte, 0, size+100)
	text = append(text, start...)
	for i := 0; len(text) < len(start)+size; i++ {
		text = append(strconv.AppendInt(text, int64(i)*2654435761, 16), ' ')
	}
	return append(text[:len(start)+size], end...)
}

// eventsLarge has messages of 1 MB, before, between and behind small ones.
func eventsLarge(t *testing.T, events replay.Events) {
	large := message(1 << 20)
	var want []replay.Event
	for i := range 240 {
		e := sampleEvent(fmt.Sprintf("e%04d", i), fmt.Sprintf("s%d", i/100), "f", eventTime)
		if i < 3 || i >= 110 && i < 116 || i == 239 {
			e.Payload = large
		}
		want = append(want, e)
	}
	putEvents(t, events, len(want), 3, want...)
	wantEvents(t, events, replay.Filter{}, want...)
}

// heapLimit bounds what may be live while many events go in and out: several batches and pages, and far less than the
// events.
const heapLimit = 40 << 20

// eventsMany has 48 MB of events (a tenth under the race detector), which never may be in memory at once. They are few
// and large, as rows take most of the time.
func eventsMany(t *testing.T, events replay.Events) {
	const sessions, size = 400, 4_800
	n := 10_000
	if race.Enabled {
		n = 1_000
	}
	payload := message(size)
	before := liveHeap()
	var most uint64
	look := func(i int) {
		if i%1_000 == 500 {
			most = max(most, liveHeap())
		}
	}
	added, in, err := events.Put(t.Context(), func(yield func(replay.Event, error) bool) {
		for i := range n {
			look(i)
			e := sampleEvent(fmt.Sprintf("e%06d", i), fmt.Sprintf("s%05d", i*7919%sessions), "f",
				eventTime.Add(time.Duration(n-i)*time.Second))
			e.Payload = payload
			if !yield(e, nil) {
				return
			}
		}
	})
	if added != n || in != sessions || err != nil {
		t.Fatalf("Put: %d in %d sessions, %v", added, in, err)
	}
	i := 0
	var last replay.Event
	for e, err := range events.Each(t.Context(), replay.Filter{FlowID: "f"}) {
		if err != nil {
			t.Fatal(err)
		}
		if e.SessionID < last.SessionID || e.SessionID == last.SessionID && !e.Time.After(last.Time) ||
			len(e.Payload) < size {
			t.Fatalf("event %s of %s at %v after %s of %s at %v", e.ID, e.SessionID, e.Time, last.ID, last.SessionID,
				last.Time)
		}
		last = e
		look(i)
		i++
	}
	if i != n {
		t.Errorf("%d events came back, want %d", i, n)
	}
	if most > before+heapLimit {
		t.Errorf("%d MB of memory in use, %d MB before", most>>20, before>>20)
	}
}

func liveHeap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// eventsNested reads more at once than there are connections, and reads and writes while reading.
func eventsNested(t *testing.T, events replay.Events) {
	var put []replay.Event
	for i := range 1_500 {
		put = append(put, sampleEvent(fmt.Sprintf("e%04d", i), fmt.Sprintf("s%02d", i/100), "f", eventTime))
	}
	putEvents(t, events, len(put), 15, put...)
	var readers [20]func() (replay.Event, error, bool)
	for i := range readers {
		next, stop := iter.Pull2(events.Each(t.Context(), replay.Filter{FlowID: "f"}))
		defer stop()
		readers[i] = next
	}
	for i := range 1_200 { // two of them beyond a large page, all beyond the small first one, and none to the end
		open := readers[:]
		if i >= 100 {
			open = readers[:2]
		}
		for _, next := range open {
			if e, err, ok := next(); !ok || err != nil || e.ID != put[i].ID {
				t.Fatalf("event %d: %s, %t, %v; want %s", i, e.ID, ok, err, put[i].ID)
			}
		}
	}
	seen := 0
	for e, err := range events.Each(t.Context(), replay.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		if seen++; seen%500 == 0 {
			putEvents(t, events, 1, 0, sampleEvent("0 behind "+e.ID, "s00", "f", eventTime)) // where reading has been
			wantIDs(t, events, replay.Filter{Types: []string{"none"}})
		}
	}
	if seen != len(put) {
		t.Errorf("%d events, want %d", seen, len(put))
	}
}

func eventsCancelled(t *testing.T, events replay.Events) {
	const n = 150
	payload := message(64_000) // so that they are more than a batch
	endless := func(ctx context.Context, cancel func()) iter.Seq2[replay.Event, error] {
		return func(yield func(replay.Event, error) bool) {
			for i := 0; ; i++ {
				if i == n {
					cancel()
				}
				e := sampleEvent(fmt.Sprint(i), fmt.Sprint("s", i%100), "f", eventTime)
				e.Payload = payload
				if !yield(e, nil) {
					return
				}
				if i > n+100 {
					t.Errorf("Put goes on after its context was cancelled: %v", ctx.Err())
					return
				}
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	added, _, err := events.Put(ctx, endless(ctx, cancel))
	if !errors.Is(err, context.Canceled) || added > n {
		t.Errorf("Put that was cancelled: %d, %v", added, err)
	}
	if _, _, err := events.Put(ctx, given(sampleEvent("x", "s", "f", eventTime))); !errors.Is(err, context.Canceled) {
		t.Errorf("Put with a cancelled context: %v", err)
	}
	if _, err := collect(ctx, events, replay.Filter{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Each with a cancelled context: %v", err)
	}
	late, cancelLate := context.WithTimeout(t.Context(), -1)
	defer cancelLate()
	if _, err := collect(late, events, replay.Filter{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Each after its deadline: %v", err)
	}

	kept, err := collect(t.Context(), events, replay.Filter{})
	if err != nil || len(kept) != added {
		t.Fatalf("%d events, %v; Put told %d", len(kept), err, added)
	}
	for i := range 100 { // a cancelled Put may have stored nothing yet
		if _, _, err := events.Put(t.Context(),
			given(sampleEvent(fmt.Sprint("late ", i), "s", "f", eventTime))); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	seen := 0
	for _, err = range events.Each(ctx, replay.Filter{}) {
		if err != nil {
			break
		}
		if seen++; seen == 75 {
			cancel()
		}
	}
	if seen != 75 || !errors.Is(err, context.Canceled) {
		t.Errorf("Each that was cancelled after 75 events gave %d, %v", seen, err)
	}
}
