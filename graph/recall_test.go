package graph_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/graph"
)

// reading counts how often records are read.
type reading struct {
	*graph.Memory
	loads *atomic.Int64
}

func (r reading) Load(ctx context.Context, thread, id string) ([]graph.Record, error) {
	r.loads.Add(1)
	return r.Memory.Load(ctx, thread, id)
}

// deaf is a store that cannot say which record is the newest.
type deaf struct{ graph.Checkpointer }

// turnCounter returns a graph that counts its turns.
func turnCounter(t *testing.T, c graph.Checkpointer) *graph.Graph[plain] {
	t.Helper()
	return single(t, graph.Config{Checkpoints: c, Guard: true}, func(_ context.Context, s plain) (update, error) {
		return update{logged.Add(fmt.Sprint("turn ", s.Count)), count.Set(s.Count + 1)}, nil
	})
}

// wantCount fails unless the newest state has so many turns.
func wantCount(t *testing.T, g *graph.Graph[plain], turns int) {
	t.Helper()
	at, err := g.State(t.Context(), "thread")
	if err != nil || at.State.Count != turns || len(at.State.Log) != turns {
		t.Fatalf("the state is %+v, %v; want %d turns", at.State, err, turns)
	}
}

// What another process does to a thread is seen at once, however much is recalled of it: graphs on one store know
// nothing of each other.
func TestOthersAreSeenAtOnce(t *testing.T) {
	memory := graph.NewMemory(graph.MemoryLimits{})
	for name, store := range map[string]graph.Checkpointer{
		"peeker": memory, "other": deaf{graph.NewMemory(graph.MemoryLimits{})},
	} {
		t.Run(name, func(t *testing.T) {
			one, two := turnCounter(t, store), turnCounter(t, store)
			both := func(turns int) {
				t.Helper()
				wantCount(t, one, turns)
				wantCount(t, two, turns)
			}
			for turns := 1; turns <= 6; turns++ {
				run(t, []*graph.Graph[plain]{one, two}[turns/2%2], "thread", nil)
				both(turns)
			}
			history, err := two.History(t.Context(), "thread")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := two.Fork(t.Context(), "thread", history[1].ID, ""); err != nil {
				t.Fatal(err)
			}
			both(2)
			run(t, one, "thread", nil)
			both(3)
			if _, err := two.UpdateState(t.Context(), "thread", update{count.Set(1), logged.Add("anew")},
				graph.UpdateOptions{Replace: true}); err != nil {
				t.Fatal(err)
			}
			both(1)
			run(t, one, "thread", nil)
			run(t, one, "thread", nil)
			both(3)
			if err := two.Delete(t.Context(), "thread"); err != nil {
				t.Fatal(err)
			}
			both(0)
			run(t, one, "thread", nil)
			both(1)
		})
	}
	one, two := turnCounter(t, memory), turnCounter(t, memory)
	run(t, one, "thread", nil)
	run(t, one, "thread", nil)
	if err := two.Compact(t.Context(), "thread"); err != nil {
		t.Fatal(err)
	}
	run(t, one, "thread", nil)
	wantCount(t, one, 4)
	wantCount(t, two, 4)
}

// A process does not read what it has written itself, and what it recalls is what it would read.
func TestOwnTurnsAreNotRead(t *testing.T) {
	store := reading{graph.NewMemory(graph.MemoryLimits{}), new(atomic.Int64)}
	g := turnCounter(t, store)
	run(t, g, "thread", nil)
	run(t, g, "thread", nil) // the first is read: new threads are not recalled, as most have one turn
	before := store.loads.Load()
	for range 5 {
		run(t, g, "thread", update{sum.Set(1)})
	}
	recalled, err := g.State(t.Context(), "thread")
	if err != nil || store.loads.Load() != before {
		t.Errorf("records were read %d times, %v", store.loads.Load()-before, err)
	}
	read, err := turnCounter(t, store).State(t.Context(), "thread")
	if diff := cmp.Diff(read, recalled); diff != "" || err != nil {
		t.Errorf("%v; what is recalled (+) is not what is read (-)\n%s", err, diff)
	}
}

// RunFrom is Run with an input made of the state before the turn.
func TestRunFrom(t *testing.T) {
	g := turnCounter(t, nil)
	for turn := range 3 {
		after, err := g.RunFrom(t.Context(), "thread", func(at graph.Checkpoint[plain]) (update, error) {
			if at.Turn != turn || at.State.Count != turn || (at.ID == "") != (turn == 0) ||
				(at.Bytes == 0) != (turn == 0) {
				t.Errorf("before turn %d: %+v", turn, at)
			}
			return update{sum.Set(at.State.Count)}, nil
		}, nil)
		if err != nil || after.Count != turn+1 {
			t.Errorf("after turn %d: %+v, %v", turn, after, err)
		}
	}
	no := errors.New("no")
	if _, err := g.RunFrom(t.Context(), "thread", func(graph.Checkpoint[plain]) (update, error) {
		return nil, no
	}, nil); !errors.Is(err, no) {
		t.Errorf("a turn that was refused: %v", err)
	}
	change := func(at graph.Checkpoint[plain]) (update, error) {
		at.State.Log[0] = "changed"
		return nil, nil
	}
	if _, err := g.RunFrom(t.Context(), "thread", change, nil); !errors.Is(err, graph.ErrChanged) {
		t.Errorf("a state that was changed: %v", err)
	}
	at, err := g.State(t.Context(), "thread")
	if err != nil || at.Turn != 3 || at.State.Sum != 3 || at.State.Log[0] != "turn 0" {
		t.Errorf("the state is %+v, %v", at, err)
	}
}
