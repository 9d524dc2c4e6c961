package pages

import (
	"context"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/internal/app/wire/storage"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/run/runindex"
)

// Opener opens the store at an address when a page first asks for it. One that there is not yet is looked for again at
// the next page. It is safe for concurrent use. Close it.
type Opener struct {
	Address string

	mu     sync.Mutex
	opened *storage.History
}

// Open returns the store, nil where there is none yet.
func (o *Opener) Open(ctx context.Context) (*Stored, error) {
	found, err := o.with(ctx, storage.FindHistory)
	if source.IsInvalid(err) {
		return nil, nil
	}
	return found, err
}

// Make returns the store, which is made where it is not there.
func (o *Opener) Make(ctx context.Context) (*Stored, error) { return o.with(ctx, storage.OpenHistory) }

func (o *Opener) with(ctx context.Context,
	open func(context.Context, string) (*storage.History, error)) (*Stored, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.opened == nil {
		found, err := open(ctx, o.Address)
		if err != nil {
			return nil, err
		}
		o.opened = found
	}
	return &Stored{
		Sessions: o.opened, Datasets: o.opened.Datasets, Annotations: o.opened.Annotations, Replays: o.opened.Runs,
		Folders: o.opened.RunFolders,
	}, nil
}

// Close closes the store.
func (o *Opener) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.opened == nil {
		return nil
	}
	return o.opened.Close()
}

// lookTime bounds how long runs are looked for in a store.
const lookTime = 2 * time.Second

// ServedRuns returns the runs that a server shows: those of its fleet, and those that `run` has entered in its store.
func ServedRuns(now func() time.Time, fleet func(context.Context) []string, opener *Opener) *runindex.Archive {
	runs := runindex.New(now)
	runs.AddFrom(func() []string {
		ctx, cancel := context.WithTimeout(context.Background(), lookTime)
		defer cancel()
		dirs := fleet(ctx)
		if s, err := opener.Open(ctx); err == nil && s != nil {
			if own, err := s.Folders(ctx); err == nil {
				dirs = append(dirs, own...)
			}
		}
		return dirs
	})
	return runs
}
