// Package sqlite keeps the threads of graphs in an SQLite file.
package sqlite

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	_ "modernc.org/sqlite" // the driver

	"github.com/rehearse-dev/rehearse/graph"
)

// busyTimeout bounds the time that a statement waits for a write of another process.
const busyTimeout = 10 * time.Second

// Schema creates the tables that are missing. It may be run again.
//
//go:embed schema.sql
var Schema string

// Saver keeps the records of threads in a file, one row each, and the steps of unfinished turns. Rows of records are
// never rewritten: a turn only adds to a thread. It is safe for concurrent use and for several processes on one file.
// Make it with Open or On.
type Saver struct {
	file  File
	ttl   time.Duration
	now   func() time.Time // replaced by tests
	close func() error     // of the file that Open has opened

	savings savings
	looked  int64 // the thread at which prune looked last; guarded by savings.turn

	load, loadNewest, list, newest           *Statement
	thread, insert, advance, look, dropSteps *Statement
	steps                                    *Statement
}

var (
	_ graph.Checkpointer = (*Saver)(nil)
	_ graph.StepSaver    = (*Saver)(nil)
	_ graph.Peeker       = (*Saver)(nil)
	_ graph.Compactor    = (*Saver)(nil)
)

// File is a file that somebody else has opened, with the tables of Schema in it. All fields are needed.
type File struct {
	DB   *sql.DB
	Path string // for errors
	// Write runs a function in a transaction, one at a time within the process.
	Write func(ctx context.Context, f func(*sql.Tx) error) error
	// Explain makes an error of an operation, such as "read session "a" from", that has failed; nil stays nil.
	Explain func(op string, err error) error
}

// On returns a saver on a file. A thread that was not written for the ttl counts as deleted; it is removed from the
// file when other threads begin. A ttl of 0 keeps all. The saver ends with the file; closing it does nothing.
func On(f File, ttl time.Duration) *Saver {
	prepare := func(query string) *Statement { return NewStatement(f.DB, query) }
	return &Saver{
		file: f, ttl: ttl, now: time.Now, close: func() error { return nil },
		load: prepare(chainQuery(goalNamed)), loadNewest: prepare(chainQuery(goalNewest)), list: prepare(listQuery),
		newest: prepare(newestQuery), thread: prepare(threadQuery), insert: prepare(insertQuery),
		advance: prepare(advanceQuery), look: prepare(lookQuery), dropSteps: prepare(dropStepsQuery),
		steps: prepare(stepsQuery),
	}
}

// Open opens the file of a URL such as sqlite:threads.db, and makes it when it is missing; its folder has to be there.
// It keeps all threads.
func Open(ctx context.Context, url string) (*Saver, error) {
	path, ok := strings.CutPrefix(url, "sqlite:")
	if path = strings.TrimPrefix(path, "//"); !ok || path == "" {
		return nil, fmt.Errorf("open %q: it names no file: write sqlite:PATH", url)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open %q: %w", url, err)
	}
	// Only the owner may read a new file. SQLite gives its other files the same mode, and reports what is wrong here.
	if file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err == nil {
		_ = file.Close()
	}
	db, err := sql.Open("sqlite", dsn(path))
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	db.SetMaxOpenConns(4)
	db.SetMaxIdleConns(4)
	if err := create(ctx, db); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, err), db.Close())
	}
	own := &opened{db: db, path: path}
	s := On(File{DB: db, Path: path, Write: own.write, Explain: own.explain}, 0)
	s.close = sync.OnceValue(db.Close)
	return s, nil
}

// Close closes the file that Open has opened.
func (c *Saver) Close() error { return c.close() }

// dsn is a URI, so that a path may have "?" and "%".
func dsn(path string) string {
	return "file:" + (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath() + "?" + url.Values{
		// The first is needed by the others, which may have to wait, too.
		"_pragma": {
			fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()), "journal_mode(WAL)", "synchronous(NORMAL)",
		},
		"_txlock":   {"immediate"}, // a transaction that reads first and writes later could not wait for another writer
		"_error_rc": {"true"},      // else a failed open is reported as "out of memory"
	}.Encode()
}

// create makes the tables. Another process may do so at the same time.
func create(ctx context.Context, db *sql.DB) (err error) {
	for range 5 {
		if _, err = db.ExecContext(ctx, Schema); err == nil || ctx.Err() != nil {
			return err
		}
	}
	return err
}

// opened is a file of the saver's own.
type opened struct {
	db      *sql.DB
	path    string
	writing sync.Mutex // spares the process SQLite's polling for the one write lock
}

func (o *opened) write(ctx context.Context, f func(*sql.Tx) error) error {
	o.writing.Lock()
	defer o.writing.Unlock()
	tx, err := o.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := f(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

func (o *opened) explain(op string, err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("%s %s: %w", op, o.path, err)
}

// each reads the rows of a query.
func (c *Saver) each(ctx context.Context, query string, args []any, scan func(*sql.Rows) error) (err error) {
	rows, err := c.file.DB.QueryContext(ctx, query, args...)
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
