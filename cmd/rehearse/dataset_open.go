package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"rehearse/internal/dataset"
	"rehearse/internal/result"
	"rehearse/internal/setup"
	"rehearse/internal/source"
)

// openDataset returns the items of a dataset, and its name as it was understood.
func openDataset(ctx context.Context, env *Env, text string) (records []dataset.Record, name dataset.Name, err error) {
	err = onDatasets(ctx, env, func(ctx context.Context, places *dataset.Places) error {
		if name, err = dataset.ParseName(text); err == nil {
			records, err = places.Read(ctx, name)
		}
		return err
	})
	return records, name, err
}

// onDatasets calls do with the places of datasets and a context that a signal ends, and gives the error its exit code.
func onDatasets(ctx context.Context, env *Env, do func(context.Context, *dataset.Places) error) error {
	ctx, release := untilSignal(ctx, env)
	defer release()
	s, err := env.here(setup.Options{})
	if err != nil {
		return outcome(err)
	}
	defer env.closed(s)
	return coded(ctx, do(ctx, s.Places(tellProgress(env.Stderr, env.Now))))
}

// coded gives an error its exit code: whether it is a mistake of whoever asked, a signal, or something that could not be done.
func coded(ctx context.Context, err error) error {
	if _, has := errors.AsType[*exitError](err); err != nil && !has && !source.IsInvalid(err) && ctx.Err() != nil {
		return &exitError{result.ExitInterrupted, errors.New("interrupted")}
	}
	return outcome(err)
}

// tellProgress says every ten seconds how far something long has come. Short things it passes over in silence.
func tellProgress(w io.Writer, clock func() time.Time) func(what string, done int) {
	var said time.Time
	return func(what string, done int) {
		now := clock()
		if done == 1 {
			said = now
		}
		if now.Sub(said) >= plainInterval {
			said = now
			fmt.Fprintf(w, "%d %s so far\n", done, harmless(what))
		}
	}
}
