package storetest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/run/store"
)

// due keeps a schedule that was due a minute ago, and returns it as it is found.
func due(t *testing.T, f Fleets, name string, blobs ...string) store.Schedule {
	t.Helper()
	if err := f.CreateSchedule(t.Context(), store.Schedule{Name: name, NextAt: time.Now().Add(-time.Minute)},
		[]byte("{}"), blobs); err != nil {
		t.Fatal(err)
	}
	s, err := f.Schedule(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func scheduleBegins(t *testing.T, f Fleets) {
	blob := blob(t, f, "file")
	s, next := due(t, f, "s", blob), time.Now().Add(time.Hour).UTC().Truncate(time.Microsecond)
	handles := []*store.Fleet{f.Fleet, f.Again()}
	var fired atomic.Int32
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			last, err := handles[i%2].FireRun(t.Context(), "s", s.NextAt, next, store.NewRun{
				Run: store.Run{ID: fmt.Sprint("run-", i)}, Blobs: []string{blob},
			})
			switch {
			case err == nil && last.Outcome == store.FiringStarted && last.At.Equal(s.NextAt):
				fired.Add(1)
			case !errors.Is(err, store.ErrChanged):
				t.Errorf("%+v, %v", last, err)
			}
		})
	}
	wg.Wait()
	runs, err := f.Runs(t.Context(), store.RunFilter{Schedule: "s"}, store.PageOf{})
	if fired.Load() != 1 || err != nil || len(runs.Items) != 1 || runs.Items[0].Status != store.RunQueued {
		t.Fatalf("fired %d times, %+v, %v", fired.Load(), runs, err)
	}
	got, err := f.Schedule(t.Context(), "s")
	if err != nil || got.Last == nil || got.Last.RunID != runs.Items[0].ID || !got.NextAt.Equal(next) {
		t.Errorf("%+v, %v", got, err)
	}
	// While it goes on, no other begins; after its end, one does.
	fire := func(at time.Time, id string) store.Firing {
		t.Helper()
		last, err := f.FireRun(t.Context(), "s", at, at.Add(time.Hour), store.NewRun{Run: store.Run{ID: id}})
		if err != nil {
			t.Fatal(err)
		}
		return last
	}
	if last := fire(next, "x"); last.Outcome != store.FiringSkipped || last.RunID != "" || !last.At.Equal(next) {
		t.Errorf("%+v", last)
	}
	if _, err := f.Run(t.Context(), "x"); !errors.Is(err, store.ErrUnknown) {
		t.Errorf("a run that was skipped is there: %v", err)
	}
	if _, err := f.CancelRun(t.Context(), runs.Items[0].ID); err != nil {
		t.Fatal(err)
	}
	if last := fire(next.Add(time.Hour), "y"); last.Outcome != store.FiringStarted || last.RunID != "y" {
		t.Errorf("%+v", last)
	}
	_, err = f.FireRun(t.Context(), "none", next, next, store.NewRun{Run: store.Run{ID: "z"}})
	wantError(t, err, store.ErrUnknown)
	// What refuses the run leaves the schedule due.
	s = due(t, f, "full")
	_, err = f.FireRun(t.Context(), "full", s.NextAt, next, store.NewRun{Run: store.Run{ID: "z"}, MaxWaiting: 1})
	wantError(t, err, store.ErrQueueFull)
	if again, err := f.Schedule(t.Context(), "full"); err != nil || again.Last != nil || !again.NextAt.Equal(s.NextAt) {
		t.Errorf("%+v, %v", again, err)
	}
}

func scheduleFails(t *testing.T, f Fleets) {
	s := due(t, f, "s")
	last, err := f.FireRun(t.Context(), "s", s.NextAt, time.Now().Add(time.Hour), store.NewRun{
		Run: store.Run{ID: "a"}, Failed: "a file is not there", MaxWaiting: 1,
	})
	if err != nil || last.Outcome != store.FiringStarted || last.RunID != "a" {
		t.Fatalf("%+v, %v", last, err)
	}
	run, err := f.Run(t.Context(), "a")
	if err != nil || run.Status != store.RunFailed || run.EndedAt == nil ||
		run.Error == nil || *run.Error != "a file is not there" || *run.ExitReason != "aborted" || *run.ExitCode != 3 ||
		*run.Schedule != "s" {
		t.Errorf("%+v, %v", run, err)
	}
	if waiting, err := f.Unfinished(t.Context(), 10); err != nil || len(waiting) != 0 {
		t.Errorf("%+v, %v", waiting, err)
	}
}
