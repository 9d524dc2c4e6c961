// Package store keeps what outlives a run: the index of runs, the judge's cached verdicts, knowledge bases, sessions, logs and their replays.
//
// Results themselves live in the folder of their run; a lost store costs the list of runs and some judge calls, no finding.
// Knowledge bases can be filled again from their files. Sessions are in the file too, or on a Redis server that several processes share; logs,
// variants and replays are in the file or in PostgreSQL.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"modernc.org/sqlite"
)

// Limits of a Store.
const (
	// keepVerdicts is how many verdicts a file holds after Close; the oldest go first. About 100 MB.
	keepVerdicts = 200_000
	// busyTimeout is how long a statement waits for another process's write.
	busyTimeout = 10 * time.Second
	// closeTimeout bounds what Close still writes.
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

// Open opens the store at path and makes the file and its folders if they are missing.
// An error is a *FileError: it says what is wrong, where, and what to do.
func Open(ctx context.Context, path string) (*Store, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
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

func connect(path string) (*sql.DB, error) {
	// As a URI, so that a path may hold "?" and "%"; EscapedPath keeps the slashes.
	//
	// With SQLite's own 2 MB of cache a large transaction writes pages that it needs again; what a statement may have to undo need not be on disk
	// at all. Together that is a fifth of the time of an import.
	return connectTo("file:"+(&url.URL{Path: filepath.ToSlash(path)}).EscapedPath(), url.Values{
		"_pragma": {"journal_mode(WAL)", "synchronous(NORMAL)", "cache_size(-16384)", "temp_store(MEMORY)"},
	})
}

func connectTo(uri string, options url.Values) (*sql.DB, error) {
	// First, as the other settings may have to wait as well.
	options["_pragma"] = append([]string{fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds())}, options["_pragma"]...)
	// A transaction that reads first and writes later could not wait for another writer.
	options.Set("_txlock", "immediate")
	// Else a failed open is reported as "out of memory".
	options.Set("_error_rc", "true")
	name := uri + "?" + options.Encode()
	connector, err := sqlite.NewConnector(name)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(4)
	db.SetMaxIdleConns(4)
	return db, nil
}

// Path returns the file's absolute path.
func (s *Store) Path() string { return s.path }

// Close writes what is pending, lets go of the oldest verdicts and closes the file.
// Calls after the first return what the first returned.
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

// write runs f in a transaction.
func (s *Store) write(ctx context.Context, f func(*sql.Tx) error) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := f(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}
