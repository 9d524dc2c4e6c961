package wire

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"

	"github.com/rehearse-dev/rehearse/internal/app/wire/storage"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/run/store"
)

// Store opens the configured store, by default the one beside the runs, once. Setup closes it.
func (s *Setup) Store(ctx context.Context) (*store.Store, error) {
	path := s.StorePath()
	if storage.IsPostgres(path) {
		return nil, fmt.Errorf("the run index and remembered verdicts are kept in files only, not in %s",
			text.Address(path))
	}
	return s.StoreAt(ctx, path)
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

// RunsStore returns the address of the store in which servers of this folder keep runs and tokens: the one named, else
// that of REHEARSE_STORE, else the configured one, else a file in dir, the folder of a server's data.
func (s *Setup) RunsStore(named, dir string) string {
	return cmp.Or(s.NamedStore(named), "sqlite:"+filepath.Join(dir, "rehearse.db"))
}

// NamedStore returns the store that somebody has named: here, in REHEARSE_STORE or in the configuration. Empty means
// that nobody has.
func (s *Setup) NamedStore(named string) string {
	environment := ""
	if s.LookupEnv != nil {
		environment, _ = s.LookupEnv("REHEARSE_STORE")
	}
	return cmp.Or(named, environment, s.config.Store)
}
