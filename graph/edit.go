package graph

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// edit adds an update to the turn that waits, after all that its nodes have written so far.
func (g *Graph[S]) edit(ctx context.Context, thread string, update Update[S]) (at Checkpoint[S], err error) {
	update, err = g.schema.checked(slices.Clone(update))
	if err != nil {
		return at, err
	}
	var writes json.RawMessage
	if err := try(ctx, g.log, "update", thread, func() (err error) {
		writes, err = g.schema.encodeUpdate(update)
		return err
	}); err != nil {
		return at, err
	}
	err = g.claimed(ctx, thread, func(ctx context.Context) error {
		last, known, err := g.recalled(ctx, thread, "")
		if err != nil {
			return err
		}
		u, err := g.unfinished(ctx, thread, last)
		if err != nil {
			return err
		}
		if len(u.questions()) == 0 {
			return fmt.Errorf("thread %q: %w", thread, ErrConflict)
		}
		u.edits = append(u.edits, writes)
		if at, err = g.soFar(ctx, thread, last, known, u); err != nil {
			return err
		}
		text, err := json.Marshal(stepText{Kind: stepEdit, Run: u.text.Run, Writes: writes})
		if err != nil {
			return err
		}
		step := Step{Turn: last.Turn + 1, Node: Start, At: time.Now(), Writes: text}
		return g.saver.SaveStep(ctx, thread, step)
	})
	if err != nil {
		return Checkpoint[S]{}, err
	}
	return at, nil
}

// editsOf returns the edits of an unfinished turn.
func (g *Graph[S]) editsOf(u *unfinished) ([]Update[S], error) {
	if u == nil {
		return nil, nil
	}
	var edits []Update[S]
	for _, text := range u.edits {
		edit, err := g.schema.decodeUpdate(text)
		if err != nil {
			return nil, err
		}
		edits = append(edits, edit)
	}
	return edits, nil
}
