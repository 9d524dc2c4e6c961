package graph

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// ErrHasState says that a thread has state already, which an update or a fork would have to replace.
var ErrHasState = errors.New("the thread has state already")

// Checkpoint is the state of a thread at one point. Without an ID the thread is unknown and the state empty.
type Checkpoint[S any] struct {
	ID, Parent string
	Turn       int // turns completed
	Source     string
	At         time.Time
	State      S
}

// State returns the newest checkpoint of a thread.
func (g *Graph[S]) State(ctx context.Context, thread string) (Checkpoint[S], error) {
	return g.At(ctx, thread, "")
}

// At returns a checkpoint of a thread; id "" means the newest. The error wraps ErrNoCheckpoint when there is none of that id.
func (g *Graph[S]) At(ctx context.Context, thread, id string) (Checkpoint[S], error) {
	r, state, err := g.load(ctx, thread, id)
	if err != nil {
		return Checkpoint[S]{}, err
	}
	return checkpoint(r, *g.schema.copyOf(state)), nil
}

// History returns the checkpoints of a thread without their state, oldest first.
func (g *Graph[S]) History(ctx context.Context, thread string) ([]Record, error) {
	return g.store.List(ctx, thread)
}

// Fork goes on from a checkpoint: the next turn of the thread begins there. With another thread it begins there as the first; that thread
// has no state yet, or else the error wraps ErrHasState.
func (g *Graph[S]) Fork(ctx context.Context, thread, id, into string) (Checkpoint[S], error) {
	from, state, err := g.load(ctx, thread, id)
	if err != nil {
		return Checkpoint[S]{}, err
	}
	if from.ID == "" {
		return Checkpoint[S]{}, fmt.Errorf("thread %q: %w", thread, ErrNoCheckpoint)
	}
	fork := Record{Parent: from.ID, Turn: from.Turn, Source: SourceFork}
	if into == "" || into == thread {
		return g.save(ctx, thread, fork, state, nil)
	}
	switch records, err := g.store.List(ctx, into); {
	case err != nil:
		return Checkpoint[S]{}, err
	case len(records) > 0:
		return Checkpoint[S]{}, fmt.Errorf("thread %q: %w: fork into another", into, ErrHasState)
	}
	fork.Parent = ""
	return g.save(ctx, into, fork, state, g.schema.whole(state))
}

// ParseUpdate reads an update from a JSON object of fields: a value to set, or for a list the items to add. Unknown fields are errors.
func (g *Graph[S]) ParseUpdate(data []byte) (Update[S], error) { return g.schema.parse(data) }

// UpdateOptions say how UpdateState treats a thread that has state; without them it is refused.
type UpdateOptions struct {
	// Replace lets the thread begin anew with the update. What it had before stays in its history.
	Replace bool
	// Merge applies the update to what the thread has. Replace goes first.
	Merge bool
}

// UpdateState gives a thread a state without running anything: the update goes through the reducers into one checkpoint, and the next turn
// begins at Start. For a thread that has state and no option that allows it the error wraps ErrHasState.
func (g *Graph[S]) UpdateState(ctx context.Context, thread string, u Update[S], o UpdateOptions) (Checkpoint[S], error) {
	last, newest, err := g.load(ctx, thread, "")
	if err != nil {
		return Checkpoint[S]{}, err
	}
	r, state := Record{Source: SourceUpdate}, new(S)
	switch {
	case last.ID == "":
	case o.Replace:
		r.Source = SourceFork // from nothing
	case o.Merge:
		r.Parent, r.Turn, state = last.ID, last.Turn, newest
	default:
		return Checkpoint[S]{}, fmt.Errorf("thread %q: %w: use another thread, or say that it is to be replaced or merged", thread, ErrHasState)
	}
	if u, err = g.schema.checked(slices.Clone(u)); err != nil {
		return Checkpoint[S]{}, err
	}
	if err := try(g.log, "update", thread, func() error { state = g.schema.applied(state, u); return nil }); err != nil {
		return Checkpoint[S]{}, err
	}
	return g.save(ctx, thread, r, state, u)
}

// Delete forgets a thread.
func (g *Graph[S]) Delete(ctx context.Context, thread string) error {
	g.recall.forget(thread)
	return g.store.Delete(ctx, thread)
}
