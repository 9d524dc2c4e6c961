package graph

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
)

// enter returns the input with which a turn begins. A durable turn saves it first.
func (g *Graph[S]) enter(ctx context.Context, l *activeRun, last Record, u *unfinished,
	input Update[S]) (Update[S], error) {
	if u != nil {
		return g.schema.decodeUpdate(u.text.Writes)
	}
	if !g.durable {
		return input, nil
	}
	step, text, err := g.inputStep(ctx, l, last, input)
	if err != nil {
		return nil, err
	}
	if err := l.save(ctx, step); err != nil {
		return nil, fmt.Errorf("the input cannot be saved: %w", err)
	}
	return g.schema.decodeUpdate(text.Writes)
}

func (g *Graph[S]) inputStep(ctx context.Context, l *activeRun, last Record, input Update[S]) (Step, stepText, error) {
	writes, err := g.encodeInput(ctx, l.thread, input)
	if err != nil {
		return Step{}, stepText{}, err
	}
	text := stepText{Kind: stepInput, Base: last.ID, Writes: writes}
	step, err := l.step(Start, 0, text)
	return step, text, err
}

func (g *Graph[S]) encodeInput(ctx context.Context, thread string, input Update[S]) (text json.RawMessage, err error) {
	err = try(ctx, g.log, "thread", "input", func() error {
		u, err := g.schema.checked(slices.Clone(input))
		if err == nil {
			text, err = g.schema.encodeUpdate(u)
		}
		return err
	})
	if err != nil {
		err = fmt.Errorf("the input: %w", err)
	}
	return text, err
}
