package graph_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/rehearse-dev/rehearse/graph"
)

// publishing drafts, asks whether to publish, and then publishes what the draft is by then. The draft comes from a node
// or an item; something later than the question settles beside it.
func publishing(t *testing.T, kind string, config graph.Config) *graph.Graph[plain] {
	b := plainGraph()
	draft := func(context.Context, plain, int) (update, error) {
		return update{named.Set("draft"), logged.Add("drafted")}, nil
	}
	switch kind {
	case "item":
		graph.Each(b, "draft", func(plain) []int { return []int{0} }, draft)
	case "node":
		b.Node("draft", func(ctx context.Context, s plain) (update, error) { return draft(ctx, s, 0) })
	}
	b.Node("ask", func(ctx context.Context, s plain) (update, error) {
		_, err := graph.Interrupt[bool](ctx, "publish?")
		return update{logged.Add("asked for " + s.Name)}, err
	})
	b.Node("again", func(ctx context.Context, s plain) (update, error) {
		_, err := graph.Interrupt[bool](ctx, "really?")
		return update{logged.Add("asked again for " + s.Name)}, err
	})
	b.Node("publish", func(_ context.Context, s plain) (update, error) {
		return update{logged.Add("published " + s.Name), named.Set(s.Name + "!")}, nil
	})
	b.Node("beside", noting("beside"))
	b.Node("later", noting("later"))
	edges(b, "START draft", "draft ask", "draft beside", "beside later", "later END", "ask again", "again publish",
		"publish END")
	return compiled(t, b, config)
}

// What is edited while a question waits counts from then on, and what had settled does not run again.
func TestEditThenApprove(t *testing.T) {
	for _, kind := range []string{"node", "item"} {
		for _, durable := range []bool{false, true} {
			ctx := t.Context()
			config := graph.Config{Checkpoints: graph.NewMemory(graph.MemoryLimits{}), Durable: durable}
			g := publishing(t, kind, config)
			if _, err := g.Run(ctx, "thread", update{logged.Add("hi")}, nil); !errors.Is(err, graph.ErrInterrupted) {
				t.Fatal(err)
			}
			wantState := func(name string, log ...string) {
				t.Helper()
				at, err := g.State(ctx, "thread")
				if err != nil || !at.Waiting || at.ID != "" || at.State.Name != name ||
					!slices.Equal(at.State.Log, log) {
					t.Errorf("%s, durable %v: %+v, %v; want %s %q", kind, durable, at, err, name, log)
				}
			}
			wantState("draft", "hi", "drafted", "beside", "later")
			before, err := g.Waiting(ctx, "thread")
			if err != nil || len(before) != 1 {
				t.Fatal(before, err)
			}
			for _, o := range []graph.UpdateOptions{{}, {Replace: true}, {Replace: true, Merge: true}} {
				if _, err := g.UpdateState(ctx, "thread", update{named.Set("x")}, o); !errors.Is(err,
					graph.ErrWaiting) {
					t.Errorf("%+v: %v, want ErrWaiting", o, err)
				}
			}
			merge := graph.UpdateOptions{Merge: true}
			at, err := g.UpdateState(ctx, "thread", update{named.Set("edited"), logged.Add("edit")}, merge)
			if err != nil || !at.Waiting || at.State.Name != "edited" {
				t.Errorf("the edit gives %+v, %v", at, err)
			}
			wantState("edited", "hi", "drafted", "beside", "later", "edit")
			if after, err := g.Waiting(ctx, "thread"); err != nil || len(after) != 1 || after[0].ID != before[0].ID {
				t.Errorf("after the edit %v wait, %v", after, err)
			}
			if history, err := g.History(ctx, "thread"); err != nil || len(history) > 0 {
				t.Errorf("the history has %v, %v", history, err)
			}
			g = publishing(t, kind, config) // in another process
			if _, err := g.Resume(ctx, "thread", first(t, g, true), nil); !errors.Is(err, graph.ErrInterrupted) {
				t.Fatal(err)
			}
			wantState("edited", "hi", "drafted", "beside", "later", "edit", "asked for edited")
			if _, err := g.UpdateState(ctx, "thread", update{named.Set("second")}, merge); err != nil {
				t.Error(err)
			}
			s, err := g.Resume(ctx, "thread", first(t, g, true), nil)
			want := []string{
				"hi", "drafted", "beside", "later", "edit", "asked for edited", "asked again for second",
				"published second",
			}
			if err != nil || s.Name != "second!" || !slices.Equal(s.Log, want) {
				t.Errorf("%s, durable %v: %s %q, %v; want %q", kind, durable, s.Name, s.Log, err, want)
			}
			at, err = g.State(ctx, "thread")
			if err != nil || at.Waiting || at.Turn != 1 || toJSON(t, at.State) != toJSON(t, s) {
				t.Errorf("saved %+v, %v", at, err)
			}
		}
	}
}

// An edit does not come between somebody's answer and its end.
func TestEditOfABusyTurn(t *testing.T) {
	disk := graph.NewMemory(graph.MemoryLimits{})
	g := publishing(t, "node", graph.Config{Checkpoints: disk})
	if _, err := g.Run(t.Context(), "thread", nil, nil); !errors.Is(err, graph.ErrInterrupted) {
		t.Fatal(err)
	}
	if _, err := disk.ClaimTurn(t.Context(), "thread", "another", time.Minute); err != nil {
		t.Fatal(err)
	}
	if _, err := g.UpdateState(t.Context(), "thread", update{named.Set("x")},
		graph.UpdateOptions{Merge: true}); !errors.Is(err, graph.ErrBusy) {
		t.Errorf("%v, want ErrBusy", err)
	}
}

// Abandoning a turn leaves nothing of it or of its edits.
func TestAbandonAnEditedTurn(t *testing.T) {
	g := publishing(t, "node", graph.Config{})
	if _, err := g.Run(t.Context(), "thread", nil, nil); !errors.Is(err, graph.ErrInterrupted) {
		t.Fatal(err)
	}
	if _, err := g.UpdateState(t.Context(), "thread", update{named.Set("x")},
		graph.UpdateOptions{Merge: true}); err != nil {
		t.Fatal(err)
	}
	if err := g.Abandon(t.Context(), "thread"); err != nil {
		t.Fatal(err)
	}
	if at, err := g.State(t.Context(), "thread"); err != nil || at.Waiting || at.State.Name != "" ||
		len(at.State.Log) > 0 {
		t.Errorf("%+v, %v", at, err)
	}
}
