package replayrun

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rehearse-dev/rehearse/internal/replay"
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
	var earlier earlierInterims
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

// A look that another process takes is waited for until that process has ended it or is dead, and its run is asked for
// only once a second.
func TestAwaitElsewhere(t *testing.T) {
	broken := errors.New("the store is broken")
	for name, c := range map[string]struct {
		row func(since time.Duration, now time.Time) (replay.Run, error)
		// waits is how long it takes, in seconds and questions.
		waits int
		want  error
	}{
		"it ends": {func(since time.Duration, now time.Time) (replay.Run, error) {
			if since >= 3*time.Hour {
				return replay.Run{Status: replay.Completed, Seen: now}, nil
			}
			return replay.Run{Status: replay.Running, Seen: now}, nil
		}, 3 * 60 * 60, nil},
		"it is killed": {func(since time.Duration, now time.Time) (replay.Run, error) {
			return replay.Run{Status: replay.Running, Seen: now.Add(min(0, 30*time.Second-since))}, nil
		}, 45, nil},
		"it is deleted": {
			func(time.Duration, time.Time) (replay.Run, error) { return replay.Run{}, replay.ErrUnknown }, 1, nil,
		},
		"the store breaks": {
			func(time.Duration, time.Time) (replay.Run, error) { return replay.Run{}, broken }, 1, broken,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, asked := time.Now(), 0
				err := awaitElsewhere(t.Context(), time.Now, func(context.Context) (replay.Run, error) {
					asked++
					return c.row(time.Since(began), time.Now())
				})
				if waited := time.Since(began); !errors.Is(err, c.want) || asked != c.waits ||
					waited != time.Duration(c.waits)*time.Second {
					t.Errorf("after %s and %d questions: %v; want %v after %d of either", waited, asked, err,
						c.want, c.waits)
				}
			})
		})
	}
	t.Run("this one ends", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
			defer cancel()
			err := awaitElsewhere(ctx, time.Now, func(context.Context) (replay.Run, error) {
				return replay.Run{Status: replay.Running, Seen: time.Now()}, nil
			})
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("it says %v", err)
			}
		})
	})
}
