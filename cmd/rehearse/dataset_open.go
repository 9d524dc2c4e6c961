package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"rehearse/internal/dataset"
	"rehearse/internal/result"
	"rehearse/internal/setup"
	"rehearse/internal/source"
	"rehearse/internal/store"
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
	return coded(ctx, do(ctx, &dataset.Places{
		Store: env.openDatasets, Langfuse: env.langfuse, Progress: tellProgress(env.Stderr, env.Now), Now: env.Now,
	}))
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

// openDatasets opens the datasets of the store at an address. A file that is missing is made only with create.
func (e *Env) openDatasets(ctx context.Context, address string, create bool) (dataset.Store, func() error, error) {
	if setup.IsPostgres(address) {
		p, err := store.OpenPostgres(ctx, address)
		if err != nil {
			return nil, nil, err
		}
		return p.Datasets(), p.Close, nil
	}
	s, err := e.open(setup.Options{})
	if err != nil {
		return nil, nil, err
	}
	opened, err := storeAt(ctx, s, address, create)
	if err != nil {
		return nil, nil, errors.Join(err, s.Close())
	}
	return opened.Datasets(), s.Close, nil
}

// storeAt opens the store of a file, or that of the project.
func storeAt(ctx context.Context, s *setup.Setup, address string, create bool) (*store.Store, error) {
	path, named := strings.CutPrefix(address, "sqlite:")
	if !named {
		here, err := s.At(".")
		if err != nil {
			return nil, err
		}
		path = here.StorePath()
	}
	if path == "" {
		return nil, usage("%s names no file: write sqlite:PATH", address)
	}
	if _, err := os.Stat(path); err != nil && !create { // opening would make one
		return nil, usage("cannot open the store: %w; name another one, or put a dataset into it with `rehearse dataset push FILE %s --create`", err,
			dataset.Name{Kind: dataset.InStore, Store: address, Dataset: "NAME"})
	}
	return s.StoreAt(ctx, path)
}
