package storetest

import (
	"encoding/json"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/base/stats"
	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/run/store"
)

// watchesKept puts states of a watch, of which each replaces the one that it goes on from.
func watchesKept(t *testing.T, runs *store.ReplayRuns) {
	if s, err := runs.Watch(t.Context(), "nightly"); s != nil || err != nil {
		t.Fatalf("an unknown watch: %+v, %v", s, err)
	}
	state := &replay.WatchState{
		Settings: json.RawMessage(`{"flow":"tea","alpha":0.05}`), Runs: []string{}, Interims: []replay.Interim{},
		Watches: []stats.Watch{{
			Alpha: 0.025, PassFail: true, Entries: stats.Moments{N: 3, Mean: math.Pi / 7, Squares: 1e-300},
			Known: map[string]stats.Entry{"unit/ä\x00": {N: 1, Sum: 0.1}},
		}},
	}
	put := func(s *replay.WatchState, before int, want bool) {
		t.Helper()
		if known, err := runs.PutWatch(t.Context(), "nightly", s, before); known != want || err != nil {
			t.Fatalf("PutWatch of %d looks in place of %d: %t, %v", len(s.Interims), before, known, err)
		}
	}
	put(state, 0, false)
	put(state, -1, true)
	put(state, -1, false)
	next := *state
	next.Interims = []replay.Interim{{Until: "2026-03-01", New: 3, Sessions: 3, Metrics: map[string]replay.Watched{
		"answered": {N: 3, Mean: new(-0.1)},
	}}}
	next.AlarmedAt = "2026-03-01"
	put(&next, 0, true)
	put(&next, 0, false)
	got, err := runs.Watch(t.Context(), "nightly")
	if diff := cmp.Diff(&next, got); diff != "" || err != nil {
		t.Errorf("Watch: %v (-put +got):\n%s", err, diff)
	}
	if other, err := runs.Watch(t.Context(), "Nightly"); other != nil || err != nil {
		t.Errorf("another name: %+v, %v", other, err)
	}
}

// watchesAtOnce lets many take the same look: one of them keeps it.
func watchesAtOnce(t *testing.T, runs *store.ReplayRuns) {
	state := &replay.WatchState{Settings: json.RawMessage(`{}`)}
	for before := -1; before < 3; before++ {
		var first atomic.Int32
		var wg sync.WaitGroup
		next := *state
		if before >= 0 {
			next.Interims = make([]replay.Interim, before+1)
		}
		for range 8 {
			wg.Go(func() {
				known, err := runs.PutWatch(t.Context(), "w", &next, before)
				if err != nil {
					t.Error(err)
				}
				if known {
					first.Add(1)
				}
			})
		}
		wg.Wait()
		if n := first.Load(); n != 1 {
			t.Errorf("%d processes kept look %d", n, before)
		}
	}
}

// watchesSessions wants the ids of the sessions of a run, and of no other.
func watchesSessions(t *testing.T, runs *store.ReplayRuns) {
	ids := []string{"3a4e6f50-0000-4000-8000-000000000001", "3a4e6f50-0000-4000-8000-000000000002"}
	for i, id := range ids {
		if err := runs.PutRun(t.Context(), replay.Run{
			ID: id, VariantID: "v", FlowID: "f", Status: replay.Running, Started: time.Now(), Seen: time.Now(),
		}); err != nil {
			t.Fatal(err)
		}
		outcomes := []replay.Outcome{{SessionID: "b"}, {SessionID: "a"}, {SessionID: "é"}}
		if err := runs.PutOutcomes(t.Context(), id, outcomes[:3-i], time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range [][]string{{"a", "b", "é"}, {"a", "b"}} {
		var got []string
		err := runs.ReplayedSessions(t.Context(), ids[i], func(session string) { got = append(got, session) })
		if slices.Sort(got); !slices.Equal(got, want) || err != nil {
			t.Errorf("run %d: %q, %v; want %q", i, got, err, want)
		}
	}
}
