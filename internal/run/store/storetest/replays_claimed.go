package storetest

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/run/store"
)

// replaysClaimed has many begin a run at once: a new one, one that was silent, one that has ended, and one that bears
// no time.
func replaysClaimed(t *testing.T, r *store.ReplayRuns) {
	const many = 8
	id := "3a4e6f50-0000-4000-8000-000000000003"
	// claim returns which of the many have the run; each would write its own number.
	claim := func(round int, former *replay.Run) (by []int) {
		t.Helper()
		got := make([]bool, many)
		var wg sync.WaitGroup
		for i := range many {
			wg.Go(func() {
				run := replay.Run{
					ID: id, VariantID: fmt.Sprint("v", i), FlowID: "f", Status: replay.Running, Started: eventTime,
				}
				run.Seen = eventTime.Add(time.Duration(round) * time.Hour)
				var err error
				if got[i], err = r.ClaimRun(t.Context(), run, former); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		for i, claimed := range got {
			if claimed {
				by = append(by, i)
			}
		}
		return by
	}
	row := func() *replay.Run {
		t.Helper()
		run, err := r.Run(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return &run
	}
	one := func(what string, by []int) {
		t.Helper()
		if len(by) != 1 || row().VariantID != fmt.Sprint("v", by[0]) {
			t.Errorf("%s: it is claimed by %v, and the row has %s", what, by, row().VariantID)
		}
	}
	none := func(what string, by []int) {
		t.Helper()
		if len(by) != 0 {
			t.Errorf("%s: it is claimed by %v", what, by)
		}
	}
	none("there is none to take over", claim(1, &replay.Run{ID: id, Status: replay.Running, Seen: eventTime}))
	one("a new run", claim(1, nil))
	none("it is there", claim(2, nil))
	silent := row()
	if err := r.PutOutcomes(t.Context(), id, outcomes("a"), eventTime.Add(2*time.Hour)); err != nil {
		t.Fatal(err)
	}
	none("it was heard of again", claim(3, silent))
	silent = row()
	one("it is silent", claim(3, silent))
	none("it was taken over", claim(4, silent))
	for _, ended := range []replay.Run{
		{
			ID: id, VariantID: "v", FlowID: "f", Status: replay.Done, Started: eventTime,
			Seen: eventTime.Add(5 * time.Hour), Ended: eventTime,
		},
		{ID: id, VariantID: "v", FlowID: "f", Status: replay.Partially},
	} {
		last := row()
		putReplay(t, r, ended)
		none("it has ended meanwhile", claim(5, last))
		one("it has ended", claim(6, row()))
	}
	var kept []string
	for _, o := range collectOutcomes(t, r, id) {
		kept = append(kept, o.SessionID)
	}
	if !slices.Equal(kept, []string{"a"}) {
		t.Errorf("its sessions are %q", kept)
	}
}
