package lead

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		receiver := &crm{t: t}
		down := true
		var deliveries log
		q := NewQueue(nil, deliveries.add)
		w := newHook(t, q, wire(func(w http.ResponseWriter, r *http.Request) error {
			if down {
				w.WriteHeader(http.StatusForbidden)
				return nil
			}
			receiver.take(r)
			return nil
		}))
		send := func(c Capture) {
			t.Helper()
			if err := w.Send(c); err != nil {
				t.Fatal(err)
			}
		}
		send(capture("s1"))
		synctest.Wait()
		down = false // what could not be delivered may be sent again
		var turns sync.WaitGroup
		for range 20 {
			turns.Go(func() { send(capture("s1")) })
		}
		turns.Wait()
		other := capture("s1")
		other.Context = "content_gating"
		send(other)
		send(capture("s2"))
		finish(t, q)
		if len(receiver.at) != 3 || len(receiver.leads) != 3 {
			t.Errorf("%d requests, %d leads", len(receiver.at), len(receiver.leads))
		}
		counts := map[string]int{}
		for _, d := range deliveries.list {
			switch {
			case d.Duplicate:
				counts["duplicate"]++
			case d.Err != nil:
				counts["error"]++
			default:
				counts["sent"]++
			}
		}
		if d := cmp.Diff(map[string]int{"duplicate": 19, "error": 1, "sent": 3}, counts); d != "" {
			t.Error(d)
		}
	})
}

// down is a Sent that does not work.
type down struct{}

func (down) Claim(context.Context, string) (bool, error) { return false, errors.New("down") }
func (down) Release(context.Context, string) error       { return errors.New("down") }

func TestSentFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		receiver := &crm{t: t}
		q := NewQueue(down{}, nil)
		w := newHook(t, q, wire(func(_ http.ResponseWriter, r *http.Request) error {
			receiver.take(r)
			return nil
		}))
		for range 2 {
			if err := w.Send(capture("s1")); err != nil {
				t.Fatal(err)
			}
		}
		finish(t, q)
		if len(receiver.at) != 2 || len(receiver.leads) != 1 {
			t.Errorf("%d requests, %d leads: want 2 requests with one key", len(receiver.at), len(receiver.leads))
		}
	})
}

func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var deliveries log
		q := NewQueue(nil, deliveries.add)
		w := newHook(t, q, wire(func(w http.ResponseWriter, r *http.Request) error {
			w.WriteHeader(http.StatusServiceUnavailable)
			return nil
		}))
		hanging, err := NewPostHog(q, "https://eu.i.posthog.com", apiKey, wire(func(_ http.ResponseWriter, r *http.Request) error {
			<-r.Context().Done()
			return r.Context().Err()
		}))
		if err != nil {
			t.Fatal(err)
		}
		for i := range slotsMost + 2 { // two wait for a slot
			if err := hanging.EmailCaptured(capture(strconv.Itoa(i))); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Send(capture("s1")); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		start := time.Now()
		err = q.Close(ctx)
		const want = "11 leads or events were given up while ending: context deadline exceeded"
		if err == nil || err.Error() != want || time.Since(start) != 100*time.Millisecond {
			t.Errorf("Close: %v after %s", err, time.Since(start))
		}
		for _, d := range deliveries.list {
			if d.Err == nil || !strings.Contains(d.Err.Error(), "given up: the program is ending") {
				t.Errorf("reported %+v", d)
			}
		}
		if len(deliveries.list) != 11 {
			t.Errorf("%d reports", len(deliveries.list))
		}
		if err := w.Send(capture("s2")); !errors.Is(err, ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
		finish(t, q)
	})
}

func TestQueueIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue(nil, nil)
		release := make(chan struct{})
		var mu sync.Mutex
		now, most := 0, 0
		count := func(by int) {
			mu.Lock()
			defer mu.Unlock()
			now += by
			most = max(most, now)
		}
		w := newHook(t, q, wire(func(http.ResponseWriter, *http.Request) error {
			count(1)
			defer count(-1)
			<-release
			return nil
		}))
		for i := range pendingMost {
			if err := w.Send(capture(strconv.Itoa(i))); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Send(capture("more")); !errors.Is(err, ErrFull) {
			t.Errorf("got %v", err)
		}
		synctest.Wait()
		close(release)
		finish(t, q)
		if most != slotsMost {
			t.Errorf("%d requests at once, want %d", most, slotsMost)
		}
	})
}

func TestMemory(t *testing.T) {
	var m Memory
	claim := func(key string) bool {
		free, err := m.Claim(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		return free
	}
	if !claim("a") || claim("a") {
		t.Error("a key is claimed once")
	}
	if err := m.Release(t.Context(), "a"); err != nil || !claim("a") {
		t.Error("a released key is free")
	}
	for i := range memoryMost - 2 {
		claim(strconv.Itoa(i))
	}
	if !claim("b") || claim("a") || claim("b") {
		t.Error("a key that was claimed again was forgotten with its first place")
	}
	if !claim("c") || !claim("a") || !claim("0") || claim("c") || len(m.ring) != memoryMost {
		t.Errorf("the oldest keys go first; %d in the ring", len(m.ring))
	}
}
