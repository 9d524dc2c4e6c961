package evaluation

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/app/wire/storage"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// ErrNoRun is what FindRun returns, wrapped, for a run that is not there.
var ErrNoRun = errors.New("there is no run")

// FindRun returns the folder of a run. The name is the folder, the run's ID, the beginning of its ID, or latest. IDs
// are looked up in the configured store. What is not there is an ErrNoRun.
func FindRun(ctx context.Context, s *wire.Setup, name string) (string, error) {
	if runlog.IsRun(name) {
		return name, nil
	}
	if path := s.StorePath(); !storage.IsPostgres(path) {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) { // opening would make an empty one
			return "", &source.InputError{
				Err: fmt.Errorf("%w %q: name its folder (there is no index of runs at %s)", ErrNoRun, name, path),
			}
		}
	}
	index, err := s.Store(ctx)
	if err != nil {
		return "", err
	}
	entry, err := index.Run(ctx, name)
	switch {
	case errors.Is(err, store.ErrNoRun):
		return "", &source.InputError{
			Err: fmt.Errorf("%w %q: name its folder, its id, or latest (%w)", ErrNoRun, name, err),
		}
	case err != nil:
		return "", source.Invalid("cannot look for the run %q: name its folder, its id, or latest (%w)", name, err)
	}
	return entry.Dir, nil
}

// index enters runs in the store's index. Results do not depend on it: without a store, the run goes on.
type index struct {
	opened chan struct{}
	store  *store.Store // nil when it could not be opened
	warn   func(text string)
}

// openIndex opens the store in the background.
func (e *Evaluation) openIndex(ctx context.Context) *index {
	i := &index{opened: make(chan struct{}), warn: e.warn}
	if e.Fleet != nil { // whoever leads it keeps its runs
		close(i.opened)
		return i
	}
	go func() {
		defer close(i.opened)
		var err error
		if i.store, err = e.setup.Store(ctx); err != nil {
			i.store = nil
			e.warn(err.Error() + "; going on without the run index and the verdict cache")
		}
	}()
	return i
}

// wait waits for the store and returns it; nil when it could not be opened.
func (i *index) wait() *store.Store {
	<-i.opened
	return i.store
}

// enter enters a run in the background. It closes the channel when that is done.
func (i *index) enter(ctx context.Context, run result.Run, dir string) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		s := i.wait()
		if s == nil {
			return
		}
		run.Comparison = nil // as long as the run; run.json has it
		dir, err := filepath.Abs(dir)
		if err == nil {
			err = s.PutRun(context.WithoutCancel(ctx), run, dir)
		}
		if err != nil {
			i.warn(err.Error())
		}
	}()
	return done
}
