package graph_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/rehearse-dev/rehearse/graph"
)

// counting is a graph whose first node counts in a Retained field, and whose second fails as long as fails says so, or
// asks.
func counting(t *testing.T, disk graph.Checkpointer, fails func() bool, asks bool) *graph.Graph[plain] {
	b := plainGraph()
	b.Node("a", func(_ context.Context, s plain) (update, error) {
		return update{kept.Set(s.Retained + 1), logged.Add("a")}, nil
	})
	b.Node("b", func(ctx context.Context, s plain) (update, error) {
		if asks {
			if _, err := graph.Interrupt[string](ctx, "?"); err != nil {
				return nil, err
			}
		}
		if fails() {
			return nil, errCrash
		}
		return update{kept.Set(s.Retained + 1), logged.Add("b")}, nil
	})
	edges(b, "START a", "a b", "b END")
	return compiled(t, b, graph.Config{Checkpoints: disk, Durable: true})
}

// TestKeptOfUnfinishedTurns: what a failed turn has counted is there at once, and counts once when the turn goes on.
func TestKeptOfUnfinishedTurns(t *testing.T) {
	disk, failures := graph.NewMemory(graph.MemoryLimits{}), 3
	g := counting(t, disk, func() bool { failures--; return failures >= 0 }, false)
	run := func() error { _, err := g.Run(t.Context(), "thread", nil, nil); return err }
	for range 3 {
		if err := run(); !errors.Is(err, errCrash) {
			t.Fatal(err)
		}
		if at, err := g.State(t.Context(), "thread"); err != nil || at.State.Retained != 1 || at.Turn != 0 ||
			len(at.State.Log) > 0 {
			t.Fatalf("after a failure: %+v, %v", at, err)
		}
	}
	s, err := g.Continue(t.Context(), "thread", nil)
	if err != nil || s.Retained != 2 || !slices.Equal(s.Log, []string{"a", "b"}) {
		t.Errorf("it gives %+v, %v", s, err)
	}
	if at, err := g.State(t.Context(), "thread"); err != nil || at.State.Retained != 2 || at.Turn != 1 ||
		!slices.Equal(at.State.Log, s.Log) {
		t.Errorf("saved %+v, %v", at, err)
	}
}

// TestKeptOfAbandonedTurns: a turn that is dropped leaves what it has counted, whether another input or Abandon drops
// it.
func TestKeptOfAbandonedTurns(t *testing.T) {
	never := func() bool { return false }
	for _, asks := range []bool{true, false} {
		disk := graph.NewMemory(graph.MemoryLimits{})
		saver := &mortal{Memory: disk}
		saver.left.Store(2) // the input and a
		if asks {
			saver.left.Store(100)
		}
		if _, err := counting(t, saver, never, asks).Run(t.Context(), "thread", nil, nil); err == nil {
			t.Fatal("it was not disturbed")
		}
		g := counting(t, disk, never, false)
		want := 3
		if asks {
			want = 1
			if err := g.Abandon(t.Context(), "thread"); err != nil {
				t.Fatal(err)
			}
		} else if s, err := g.Run(t.Context(), "thread", update{logged.Add("other")}, nil); err != nil ||
			!slices.Equal(s.Log, []string{"other", "a", "b"}) {
			t.Fatal(s, err)
		}
		at, err := g.State(t.Context(), "thread")
		if steps, _ := disk.Steps(t.Context(), "thread"); err != nil || at.State.Retained != want || len(steps) > 0 {
			t.Errorf("asks %v: %d counted, want %d, %d steps, %v", asks, at.State.Retained, want, len(steps), err)
		}
	}
}

// TestThreadMovesOn: a fork ends the turn that waits, and its steps are never taken for those of another
// turn.
func TestThreadMovesOn(t *testing.T) {
	for name, move := range map[string]func(g *graph.Graph[plain]) error{
		"fork": func(g *graph.Graph[plain]) error {
			at, err := g.State(context.Background(), "thread")
			if err == nil {
				_, err = g.Fork(context.Background(), "thread", at.ID, "")
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			disk := graph.NewMemory(graph.MemoryLimits{})
			never := func() bool { return false }
			g := counting(t, disk, never, false)
			run(t, g, "thread", update{logged.Add("first")})
			if _, err := counting(t, disk, never, true).Run(t.Context(), "thread", nil, nil); !errors.Is(err,
				graph.ErrInterrupted) {
				t.Fatal(err)
			}
			if at, err := g.Fork(t.Context(), "thread", "", "other"); err != nil || at.Turn != 1 ||
				!slices.Equal(at.State.Log, []string{"first", "a", "b"}) {
				t.Errorf("a fork of a thread that waits: %+v, %v", at, err)
			}
			if open, err := g.Waiting(t.Context(), "other"); len(open) > 0 || err != nil {
				t.Errorf("%v wait in the fork, %v", open, err)
			}
			if err := move(g); err != nil {
				t.Fatal(err)
			}
			if open, err := g.Waiting(t.Context(), "thread"); len(open) > 0 || err != nil {
				t.Errorf("%v wait, %v", open, err)
			}
			if _, err := g.Resume(t.Context(), "thread", first(t, g, "yes"), nil); !errors.Is(err,
				graph.ErrNotWaiting) {
				t.Errorf("answering: %v", err)
			}
			s := run(t, g, "thread", update{logged.Add("second")})
			if n := len(s.Log); !slices.Equal(s.Log[n-3:], []string{"second", "a", "b"}) {
				t.Errorf("the next turn gives %v", s.Log)
			}
		})
	}
}

// TestKeptMerge: a field that is merged counts what a turn has written once, however often the turn has failed.
func TestKeptMerge(t *testing.T) {
	type state struct {
		N int `json:"n"`
	}
	n := graph.Merge(func(s *state) *int { return &s.N }, func(old, written int) int {
		return old + written
	}).Retained()
	failures := 2
	b := graph.New("merge", n)
	b.Node("a", func(context.Context, state) (graph.Update[state], error) { return graph.Update[state]{n.Set(1)}, nil })
	b.Node("b", func(context.Context, state) (graph.Update[state], error) {
		if failures--; failures >= 0 {
			return nil, errCrash
		}
		return graph.Update[state]{n.Set(10)}, nil
	})
	b.Edge(graph.Start, "a")
	b.Edge("a", "b")
	b.Edge("b", graph.End)
	g, err := b.Compile(graph.Config{Durable: true})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := g.Run(t.Context(), "thread", nil, nil); !errors.Is(err, errCrash) {
			t.Fatal(err)
		}
	}
	if s, err := g.Continue(t.Context(), "thread", nil); err != nil || s.N != 11 {
		t.Errorf("it gives %d, %v; want 11", s.N, err)
	}
}

// TestStepsOfTwoRuns: a step that a turn saves after another one has taken its place is not the other's.
func TestStepsOfTwoRuns(t *testing.T) {
	disk := graph.NewMemory(graph.MemoryLimits{})
	never := func() bool { return false }
	disturbed := func(input string, steps int64) {
		saver := &mortal{Memory: disk}
		saver.left.Store(steps)
		if _, err := counting(t, saver, never, false).Run(t.Context(), "thread",
			update{logged.Add(input), named.Set(input)}, nil); !errors.Is(err, errCrash) {
			t.Fatal(err)
		}
	}
	disturbed("one", 2)
	steps, err := disk.Steps(t.Context(), "thread")
	if err != nil || len(steps) != 2 || steps[1].Node != "a" {
		t.Fatal(steps, err)
	}
	disturbed("two", 1)
	late := steps[1]
	if err := disk.SaveStep(t.Context(), "thread", late); err != nil {
		t.Fatal(err)
	}
	ran := 0
	b := plainGraph()
	b.Node("a", func(context.Context, plain) (update, error) { ran++; return update{logged.Add("a")}, nil })
	b.Node("b", func(context.Context, plain) (update, error) { return nil, nil })
	edges(b, "START a", "a b", "b END")
	s, err := compiled(t, b, graph.Config{Checkpoints: disk, Durable: true}).Continue(t.Context(), "thread", nil)
	if err != nil || ran != 1 || s.Name != "two" {
		t.Errorf("%+v, %v, a has run %d times", s, err, ran)
	}
}

// TestResumeGivesNoText: the text before the question was given to whoever ran the turn.
func TestResumeGivesNoText(t *testing.T) {
	b := plainGraph()
	b.Streaming("say", func(ctx context.Context, _ plain, out graph.TokenSink) (update, error) {
		return nil, out(ctx, "hello")
	})
	b.Node("ask", func(ctx context.Context, _ plain) (update, error) {
		_, err := graph.Interrupt[string](ctx, "?")
		return nil, err
	})
	edges(b, "START say", "say ask", "ask END")
	g := compiled(t, b, graph.Config{Durable: true})
	said := ""
	sink := func(_ context.Context, text string) error { said += text; return nil }
	if _, err := g.Run(t.Context(), "thread", nil, sink); !errors.Is(err, graph.ErrInterrupted) {
		t.Fatal(err)
	}
	if _, err := g.Resume(t.Context(), "thread", first(t, g, "yes"), sink); err != nil || said != "hello" {
		t.Errorf("the sink got %q, %v", said, err)
	}
}
