package replayrun

import (
	"context"
	"slices"
	"testing"

	"rehearse/internal/replay"
)

// replayedBy is a store in which each run has replayed the sessions of its name.
type replayedBy struct {
	replay.Watches
	sessions map[string][]string
	asked    []string
}

func (r *replayedBy) ReplayedSessions(_ context.Context, run string, f func(string)) error {
	r.asked = append(r.asked, run)
	for _, session := range r.sessions[run] {
		f(session)
	}
	return nil
}

// Sessions of earlier looks are read once, however many looks follow.
func TestEarlierLooks(t *testing.T) {
	store := &replayedBy{sessions: map[string][]string{"one": {"a", "b"}, "two": {"c"}}}
	var earlier earlierLooks
	for _, runs := range [][]string{nil, {"one"}, {"one", "two"}, {"one", "two"}} {
		if err := earlier.read(t.Context(), store, runs); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(store.asked, []string{"one", "two"}) {
		t.Errorf("the store was asked for the sessions of %v", store.asked)
	}
	for session, want := range map[string]bool{"a": true, "b": true, "c": true, "d": false} {
		if earlier.replayed(session) != want {
			t.Errorf("replayed(%s) is %t", session, !want)
		}
	}
}
