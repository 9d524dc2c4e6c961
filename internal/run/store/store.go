// Package store keeps what outlives a run: the index of the runs of suites, the judge's cached verdicts, knowledge
// bases, sessions, logs, their replays, datasets, and the runs of servers (Fleet). It has many files, as each thing has
// a few of its own. Results of a one-process run are in its folder. A lost store costs its place in the list of runs
// and some calls of judges, but no result. Knowledge bases can be filled again from their files. Sessions are in the
// file too, or on a Redis server that several processes share; logs, variants, replays, datasets and the runs of
// servers are in the file or in PostgreSQL.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/knowledge"
)

// Limits of a Store.
const (
	// keepVerdicts is the number of verdicts that a file keeps after Close, about 100 MB. The oldest are deleted first.
	keepVerdicts = 200_000
	// closeTimeout bounds the time for writing at Close.
	closeTimeout = 30 * time.Second
)

// Store is one SQLite file. It is safe for concurrent use and for several processes on one file.
// Make it with Open and release it with Close.
type Store struct {
	db   *sql.DB
	path string
	keep int

	// writing spares the process SQLite's polling for the one write lock.
	writing  sync.Mutex
	verdicts pending

	closing sync.Once
	closed  error
}

// Open opens the store at path. It creates the file and its folders if they are missing.
// An error is a *Error: it says what is wrong, where, and what to do.
func Open(ctx context.Context, path string) (*Store, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, explain("make the folder of", path, err)
	}
	db, err := connect(path)
	if err != nil {
		return nil, explain("open", path, err)
	}
	if err := migrate(ctx, db, path); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	s := &Store{db: db, path: path, keep: keepVerdicts}
	s.verdicts.start(s.writeVerdicts)
	return s, nil
}

// Path returns the file's absolute path.
func (s *Store) Path() string { return s.path }

// Close writes pending verdicts, deletes the oldest ones and closes the file. Later calls return the result of the
// first.
func (s *Store) Close() error {
	s.closing.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		wrote, err := s.verdicts.stop()
		if wrote {
			err = errors.Join(err, s.prune(ctx))
		}
		if closeErr := s.db.Close(); closeErr != nil {
			err = errors.Join(err, explain("close", s.path, closeErr))
		}
		s.closed = err
	})
	return s.closed
}

// Knowledge returns the knowledge bases that the store keeps. They end with the store; closing them is not needed.
func (s *Store) Knowledge(options ...knowledge.Option) *knowledge.Library {
	return knowledge.New(knowledgeTables{s}, options...)
}

// knowledgeTables are the tables of a file as the package knowledge uses them.
type knowledgeTables struct{ store *Store }

func (t knowledgeTables) Read() *sql.DB { return t.store.db }

func (t knowledgeTables) Write(ctx context.Context, f func(*sql.Tx) error) error {
	return t.store.write(ctx, f)
}

func (t knowledgeTables) Explain(op string, err error) error { return explain(op, t.store.path, err) }
