package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"sync"
	"time"

	"modernc.org/sqlite"
)

const (
	// busyTimeout bounds the time that a statement waits for a write of another process.
	busyTimeout = 10 * time.Second
	// connections bounds the connections of a process to one file.
	connections = 4
)

// connect opens the file at path, or makes it.
func connect(path string) (*sql.DB, error) {
	// As a URI, so that a path may have "?" and "%"; EscapedPath keeps the slashes.
	uri := "file:" + (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath()
	connector, err := sqlite.NewConnector(uri + "?" + url.Values{
		"_pragma": {
			fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()), // first, as the other settings may have to wait as well
			"journal_mode(WAL)", "synchronous(NORMAL)",
			// With SQLite's own 2 MB of cache a large transaction writes pages that it needs again; what a statement may have to undo
			// need not be on disk at all. Together that is a fifth of the time of an import.
			"cache_size(-16384)", "temp_store(MEMORY)",
		},
		"_txlock":   {"immediate"}, // a transaction that reads first and writes later could not wait for another writer
		"_error_rc": {"true"},      // else a failed open is reported as "out of memory"
	}.Encode())
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	return db, nil
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

// each reads the rows of a query.
func (s *Store) each(ctx context.Context, query string, args []any, scan func(*sql.Rows) error) (err error) {
	rows, err := s.db.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// exec runs one statement that writes.
func (s *Store) exec(ctx context.Context, query string, args ...any) error {
	return s.write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, query, args...)
		return err
	})
}

// statement is a query that is prepared once for each connection, when it is first needed. It ends with the database.
type statement struct {
	db    *sql.DB
	query string

	mu       sync.Mutex
	prepared *sql.Stmt
}

// rows reads, outside of transactions.
func (s *statement) rows(ctx context.Context, args ...any) (*sql.Rows, error) {
	if err := s.prepare(ctx); err != nil {
		return nil, err
	}
	return s.prepared.QueryContext(ctx, args...)
}

// row reads one row within a transaction.
func (s *statement) row(ctx context.Context, tx *sql.Tx, args []any, dest ...any) (err error) {
	if err := s.prepare(ctx); err != nil {
		return err
	}
	here := tx.StmtContext(ctx, s.prepared)
	defer func() { err = errors.Join(err, here.Close()) }()
	return here.QueryRowContext(ctx, args...).Scan(dest...)
}

// exec writes.
func (s *statement) exec(ctx context.Context, tx *sql.Tx, args ...any) (done sql.Result, err error) {
	if err := s.prepare(ctx); err != nil {
		return nil, err
	}
	here := tx.StmtContext(ctx, s.prepared)
	defer func() { err = errors.Join(err, here.Close()) }()
	return here.ExecContext(ctx, args...)
}

// prepare prepares the statement at the first call.
func (s *statement) prepare(ctx context.Context) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.prepared == nil {
		s.prepared, err = s.db.PrepareContext(ctx, s.query)
	}
	return err
}
