package wire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/run/annotation"
	"github.com/rehearse-dev/rehearse/internal/run/store"
	"github.com/rehearse-dev/rehearse/internal/spec/quarantine"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Store opens the configured store, by default the one beside the runs, once. Setup closes it.
func (s *Setup) Store(ctx context.Context) (*store.Store, error) {
	path := s.StorePath()
	if IsPostgres(path) {
		return nil, fmt.Errorf("the run index and remembered verdicts are kept in files only, not in %s",
			text.Address(path))
	}
	return s.StoreAt(ctx, path)
}

// Quarantines returns the quarantines that the configured store keeps, by suite and test. A store that there is not yet
// has none, and is not made.
func (s *Setup) Quarantines(ctx context.Context) (terms map[result.Key]quarantine.Terms, err error) {
	path := s.StorePath()
	if IsPostgres(path) {
		p, err := store.OpenPostgres(ctx, path)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, p.Close()) }()
		return p.Annotations().Quarantines(ctx)
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	kept, err := s.StoreAt(ctx, path)
	if err != nil {
		return nil, err
	}
	return kept.Annotations().Quarantines(ctx)
}

// Annotations returns what people said of a run: in its folder, and in the configured store where there is one. The
// warning says what of its folder cannot be read; it is empty where all can.
func (s *Setup) Annotations(ctx context.Context, dir, run string) (b *annotation.Book, warning string, err error) {
	inFolder, unreadable, err := annotation.Read(dir)
	if err != nil {
		return nil, "", err
	}
	if unreadable > 0 {
		warning = text.Plural(unreadable, "line") + " of " + annotation.File + " cannot be read and count nowhere"
	}
	h, err := FindHistory(ctx, s.StorePath())
	if source.IsInvalid(err) { // there is none yet
		return annotation.BookOf(inFolder), warning, nil
	}
	if err != nil {
		return nil, "", err
	}
	inStore, err := h.Annotations.Of(ctx, run)
	return annotation.BookOf(inFolder, inStore), warning, errors.Join(err, h.Close())
}

// StoreAt opens the store in a file, once. Setup closes it.
func (s *shared) StoreAt(ctx context.Context, path string) (*store.Store, error) {
	s.storing.Lock()
	defer s.storing.Unlock()
	if opened, ok := s.stores[path]; ok {
		return opened, nil
	}
	opened, err := store.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	s.stores[path] = opened
	return opened, nil
}

// StorePath returns the file of the configured store, or its address postgres://….
func (s *Setup) StorePath() string {
	return cmp.Or(s.config.Store, filepath.Join(StateDir, "rehearse.db"))
}

// IsPostgres reports whether an address is that of a PostgreSQL database.
func IsPostgres(address string) bool {
	return strings.HasPrefix(address, "postgres://") || strings.HasPrefix(address, "postgresql://")
}

// SQLitePath returns the file of an address sqlite:PATH, or of a bare path. scheme is that of another kind of store,
// else empty.
func SQLitePath(address string) (path, scheme string) {
	path, postgres, err := config.Store(address, "")
	if err != nil || postgres != "" {
		scheme, _, _ = strings.Cut(address, ":")
		if scheme == "sqlite" {
			scheme = ""
		}
	}
	return path, scheme
}

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
		return historyOfPostgres(p), nil
	}
	if err := NamesStore(address); err != nil {
		return nil, err
	}
	path, _ := SQLitePath(address)
	s, err := store.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	return historyOfFile(s), nil
}

// NamesStore returns source.Invalid for an address that is none of a store. It opens nothing.
func NamesStore(address string) error {
	if path, _ := SQLitePath(address); path == "" && !IsPostgres(address) {
		return source.Invalid("--store %q names no store: write sqlite:PATH, or postgres://USER@HOST/DATABASE",
			text.Address(address))
	}
	return nil
}

func historyOfPostgres(p *store.Postgres) *History {
	return &History{
		p.Events(), p.Variants(), p.ReplayRuns(), p.Datasets(), p.Fleet(), p.Annotations(), noFolders, p.Close,
	}
}

func historyOfFile(s *store.Store) *History {
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

// eraseSession takes a session of a chatbot out of the store: its events, and its words wherever they were replayed or
// made items of.
func (h *History) eraseSession(ctx context.Context, site, session string, now time.Time) error {
	return errors.Join(
		h.Events.EraseSession(ctx, site, session), h.Runs.EraseSession(ctx, site, session),
		h.fleet.EraseSession(ctx, site, session), h.Datasets.EraseSession(ctx, site, session, now),
	)
}

// Close closes the store.
func (h *History) Close() error { return h.close() }
