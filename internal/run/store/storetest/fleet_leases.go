package storetest

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

var eventTests = []fleetTest{
	{"events tell a run from beginning to end", eventsOfARun},
	{"events are read behind an id, on every server", eventsAfter},
	{"events have no gaps while many write", eventsWithoutGaps},
}

var leaseTests = []fleetTest{
	{"a lease is held once", leaseOnce},
	{"a lease that has expired goes on with a higher number", leaseExpires},
	{"who lost the lease writes nothing", leaseFences},
	{"a lease is renewed", leaseRenewed},
	{"of many at once one gets the lease", leaseRace},
	{"all leases are given up", leasesGivenUp},
}

// eventsOf reads all events of a run in pages of a size.
func eventsOf(t *testing.T, f *store.Fleet, run string, limit int) (all []store.RunEvent) {
	t.Helper()
	for {
		events, err := f.RunEvents(t.Context(), run, int64(len(all)), limit)
		if err != nil {
			t.Fatal(err)
		}
		if len(events) == 0 {
			return all
		}
		for _, e := range events {
			if all = append(all, e); e.ID != int64(len(all)) {
				t.Fatalf("event %d has the id %d", len(all), e.ID)
			}
		}
	}
}

func eventsOfARun(t *testing.T, f Fleets) {
	begun(t, f, "other")
	putResults(t, f, "other", tested("x", 0, result.Pass))
	submitted(t, f, "r")
	moved(t, f, "r", store.RunRunning)
	putResults(t, f, "r", tested("a", 0, result.Pass), tested("a", 0, result.Fail), tested("b", 2, result.Error))
	if _, err := f.UpdateRun(t.Context(), "r", store.Fence{}, func(r *store.Run) error { // which tells nothing
		r.Progress.Running = 1
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	putResults(t, f, "r", tested("c", 0, result.Fail))
	moved(t, f, "r", store.RunCompleted)
	var got strings.Builder
	for _, e := range eventsOf(t, f.Fleet, "r", 2) {
		var data struct {
			Status   string
			Progress struct{ Done int }
			store.ResultEvent
		}
		if err := json.Unmarshal(e.Data, &data); err != nil {
			t.Fatal(err)
		}
		switch e.Kind {
		case store.EventResult:
			one, err := f.Result(t.Context(), "r", data.ResultEvent.ID)
			if err != nil || one.Seq != data.Seq || one.Key.TestID != data.TestID || one.Key.Trial != data.Trial {
				t.Errorf("%s: %+v, %v", e.Data, one, err)
			}
			fmt.Fprintf(&got, "%s %s %t; ", data.TestID, data.Verdict, data.Score == nil)
		default:
			fmt.Fprintf(&got, "%s %s %d; ", e.Kind, data.Status, data.Progress.Done)
		}
	}
	if want := "status queued 0; status running 0; a pass false; b error true; c fail false; status completed 3; " +
		"end completed 3; "; got.String() != want {
		t.Errorf("events %s\nwant   %s", got.String(), want)
	}
}

func eventsAfter(t *testing.T, f Fleets) {
	begun(t, f, "r")
	for i := range 5 {
		putResults(t, f, "r", tested(name("t", i), 0, result.Pass))
	}
	moved(t, f, "r", store.RunPartial)
	want := asJSON(t, eventsOf(t, f.Fleet, "r", 100))
	for _, limit := range []int{0, 1, 3, 9, 5_000} {
		if got := asJSON(t, eventsOf(t, f.Again(), "r", limit)); got != want {
			t.Errorf("pages of %d: %s\nwant %s", limit, got, want)
		}
	}
	for after, n := range map[int64]int{-1: 9, 3: 6, 8: 1, 9: 0, 100: 0} {
		if events, err := f.RunEvents(t.Context(), "r", after, 0); err != nil || len(events) != n {
			t.Errorf("after %d: %d events, %v; want %d", after, len(events), err, n)
		}
	}
}

func eventsWithoutGaps(t *testing.T, f Fleets) {
	begun(t, f, "r")
	var writers, readers sync.WaitGroup
	for w := range 3 {
		handle := f.Again()
		writers.Go(func() {
			for i := range 15 {
				if _, err := handle.PutResults(t.Context(), "r", store.Fence{}, []store.NewResult{{
					Test: tested(fmt.Sprint(w, "-", i), 0, result.Pass),
				}}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	readers.Go(func() {
		read := int64(0)
		for {
			events, err := f.RunEvents(t.Context(), "r", read, 4)
			if err != nil {
				t.Error(err)
				return
			}
			for _, e := range events {
				if read++; e.ID != read {
					t.Errorf("event %d has the id %d", read, e.ID)
					return
				}
				if e.Kind == store.EventEnd {
					return
				}
			}
		}
	})
	writers.Wait()
	moved(t, f, "r", store.RunCompleted)
	readers.Wait()
	if n := len(eventsOf(t, f.Fleet, "r", 10)); n != 49 {
		t.Errorf("%d events, want 49", n)
	}
}

// leased takes a lease that is free.
func leased(t *testing.T, f *store.Fleet, owner string, ttl time.Duration) store.Lease {
	t.Helper()
	lease, ok, err := f.AcquireLease(t.Context(), "run r", owner, ttl)
	if err != nil || !ok || lease.Owner != owner {
		t.Fatalf("TakeLease(%s): %+v, %t, %v", owner, lease, ok, err)
	}
	return lease
}

func leaseOnce(t *testing.T, f Fleets) {
	before := time.Now()
	first := leased(t, f.Fleet, "a", never)
	if first.Until.Before(before.Add(never)) || first.Until.After(time.Now().Add(never)) {
		t.Errorf("until %v", first.Until)
	}
	held, ok, err := f.Again().AcquireLease(t.Context(), "run r", "b", never)
	if err != nil || ok || held.Owner != "a" || held.Number != first.Number || !held.Until.IsZero() {
		t.Errorf("%+v, %t, %v", held, ok, err)
	}
	if again := leased(t, f.Again(), "a", never); again.Number != first.Number {
		t.Errorf("number %d, want %d", again.Number, first.Number)
	}
	if _, ok, err := f.AcquireLease(t.Context(), "run R", "b", never); !ok || err != nil {
		t.Errorf("another lease: %t, %v", ok, err)
	}
	if err := f.GiveUpLease(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	second := leased(t, f.Fleet, "b", never)
	if second.Number <= first.Number {
		t.Errorf("number %d after %d", second.Number, first.Number)
	}
	if err := f.GiveUpLease(t.Context(), first); err != nil { // which went to somebody else
		t.Fatal(err)
	}
	if _, ok, _ := f.AcquireLease(t.Context(), "run r", "c", never); ok {
		t.Error("who gave up an old lease has freed a new one")
	}
	for _, names := range [][2]string{{"", "a"}, {"a", ""}} {
		if _, _, err := f.AcquireLease(t.Context(), names[0], names[1], never); err == nil {
			t.Errorf("%q: no error", names)
		}
	}
}

func leaseExpires(t *testing.T, f Fleets) {
	first := leased(t, f.Fleet, "a", time.Microsecond)
	time.Sleep(time.Millisecond)
	second := leased(t, f.Again(), "b", time.Microsecond)
	time.Sleep(time.Millisecond)
	third := leased(t, f.Fleet, "b", never) // it may have stopped meanwhile
	if second.Number <= first.Number || third.Number <= second.Number {
		t.Errorf("numbers %d, %d, %d", first.Number, second.Number, third.Number)
	}
}

func leaseFences(t *testing.T, f Fleets) {
	submitted(t, f, "r")
	old := leased(t, f.Fleet, "a", time.Microsecond)
	begin := func(lease store.Lease) error {
		_, err := f.UpdateRun(t.Context(), "r", lease.Fence(), func(r *store.Run) error {
			r.Status = store.RunRunning
			return nil
		})
		return err
	}
	put := func(lease store.Lease, id string) error {
		_, err := f.PutResults(t.Context(), "r", lease.Fence(), []store.NewResult{{Test: tested(id, 0, result.Pass)}})
		return err
	}
	if err := begin(old); err != nil { // it has expired, and nobody has taken it
		t.Error(err)
	}
	if err := put(old, "a"); err != nil {
		t.Error(err)
	}
	time.Sleep(time.Millisecond)
	now := leased(t, f.Again(), "b", never)
	wantError(t, put(old, "b"), store.ErrLeaseLost)
	wantError(t, begin(old), store.ErrLeaseLost)
	_, err := f.RenewLease(t.Context(), old, never)
	wantError(t, err, store.ErrLeaseLost)
	if err := put(now, "c"); err != nil {
		t.Error(err)
	}
	if err := f.GiveUpLease(t.Context(), now); err != nil {
		t.Fatal(err)
	}
	wantError(t, put(now, "d"), store.ErrLeaseLost)
	wantError(t, put(store.Lease{Name: "never", Number: 1}, "d"), store.ErrLeaseLost)
	wantError(t, put(store.Lease{Name: "never"}, "d"), store.ErrLeaseLost)
	if seqs := allSeqs(t, f, "r", store.ResultFilter{}, 10); len(seqs) != 2 {
		t.Errorf("results %v, want 2", seqs)
	}
}

func leaseRenewed(t *testing.T, f Fleets) {
	first := leased(t, f.Fleet, "a", time.Microsecond)
	time.Sleep(time.Millisecond)
	renewed, err := f.RenewLease(t.Context(), first, never) // late, but nobody took it
	if err != nil || renewed.Number != first.Number || renewed.Until.Before(time.Now().Add(never/2)) {
		t.Errorf("%+v, %v", renewed, err)
	}
	if _, ok, err := f.Again().AcquireLease(t.Context(), "run r", "b", never); ok || err != nil {
		t.Errorf("%t, %v", ok, err)
	}
}

func leaseRace(t *testing.T, f Fleets) {
	handles := []*store.Fleet{f.Fleet, f.Again(), f.Again()}
	var got atomic.Int32
	var wg sync.WaitGroup
	for i := range 15 {
		wg.Go(func() {
			_, ok, err := handles[i%len(handles)].AcquireLease(t.Context(), "run r", fmt.Sprint(i), never)
			if err != nil {
				t.Error(err)
			}
			if ok {
				got.Add(1)
			}
		})
	}
	wg.Wait()
	if got.Load() != 1 {
		t.Errorf("%d got the lease, want 1", got.Load())
	}
}

func leasesGivenUp(t *testing.T, f Fleets) {
	first := leased(t, f.Fleet, "a", never)
	err := f.CreateConversation(t.Context(), store.Conversation{ID: "c", Data: []byte("{}")}, roomy)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.LeaseConversation(t.Context(), "c", "dead", never, time.Hour); err != nil {
		t.Fatal(err)
	}
	if err := f.Again().GiveUpAllLeases(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := f.LeaseConversation(t.Context(), "c", "alive", never, time.Hour); err != nil {
		t.Error(err)
	}
	wantError(t, f.FreeConversation(t.Context(), "c", "dead", nil), store.ErrLeaseLost)
	if second := leased(t, f.Fleet, "b", never); second.Number <= first.Number {
		t.Errorf("number %d after %d", second.Number, first.Number)
	}
}
