package storage

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/run/store"
)

// History is a store of logged events, of variants and of their evaluations. Close it.
type History struct {
	*store.Events
	Variants *store.Variants
	Runs     *store.ReplayRuns
	Datasets *store.Datasets
	// fleet keeps the runs of servers.
	fleet *store.Fleet
	// Annotations are what people said of runs.
	Annotations *store.Annotations
	// RunFolders returns the folders of the newest runs in the index.
	RunFolders func(context.Context) ([]string, error)
	close      func() error
}

// OpenHistory opens the store of an address sqlite:PATH or postgres://….
func OpenHistory(ctx context.Context, address string) (*History, error) {
	if IsPostgres(address) {
		p, err := store.OpenPostgres(ctx, address)
		if err != nil {
			return nil, err
		}
		return OfPostgres(p), nil
	}
	if err := NamesStore(address); err != nil {
		return nil, err
	}
	path, _ := SQLitePath(address)
	s, err := store.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	return OfFile(s), nil
}

// OfPostgres returns the history in a database.
func OfPostgres(p *store.Postgres) *History {
	return &History{
		p.Events(), p.Variants(), p.ReplayRuns(), p.Datasets(), p.Fleet(), p.Annotations(), noFolders, p.Close,
	}
}

// OfFile returns the history in a file.
func OfFile(s *store.Store) *History {
	folders := func(ctx context.Context) (dirs []string, err error) {
		entries, err := s.Runs(ctx, maxRunFolders)
		for _, e := range entries {
			dirs = append(dirs, e.Dir)
		}
		return dirs, err
	}
	return &History{
		s.Events(), s.Variants(), s.ReplayRuns(), s.Datasets(), s.Fleet(), s.Annotations(), folders, s.Close,
	}
}

// maxRunFolders is how many of the newest runs of an index are shown.
const maxRunFolders = 1_000

// noFolders are those of a database, which has no index of runs.
func noFolders(context.Context) ([]string, error) { return nil, nil }

// FindHistory is OpenHistory, but refuses the file of a store that is not there: opening would make an empty one, in
// which nothing is found.
func FindHistory(ctx context.Context, address string) (*History, error) {
	if path, _ := SQLitePath(address); path != "" {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return nil, source.Invalid("there is no store %s: name the one into which `rehearse replay import` has "+
				"loaded the log, with --store", address)
		}
	}
	return OpenHistory(ctx, address)
}

// EraseSession takes a session of a chatbot out of the store: its events, and its words wherever they were replayed or
// made items of.
func (h *History) EraseSession(ctx context.Context, site, session string, now time.Time) error {
	return errors.Join(
		h.Events.EraseSession(ctx, site, session), h.Runs.EraseSession(ctx, site, session),
		h.fleet.EraseSession(ctx, site, session), h.Datasets.EraseSession(ctx, site, session, now),
	)
}

// Close closes the store.
func (h *History) Close() error { return h.close() }
