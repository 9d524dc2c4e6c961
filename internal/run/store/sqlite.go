package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
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
	// Only the owner may read a new file. SQLite gives its other files the same mode, and reports what is wrong here.
	if file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err == nil {
		_ = file.Close()
	}
	// As a URI, so that a path may have "?" and "%"; EscapedPath keeps the slashes.
	uri := "file:" + (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath()
	connector, err := newConnector(uri + "?" + url.Values{
		"_pragma": {
			// first, as the other settings may have to wait as well
			fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()),
			"journal_mode(WAL)", "synchronous(NORMAL)",
			// With SQLite's own 2 MB of cache a large transaction writes pages that it needs again; what a statement
			// may have to undo need not be on disk at all. Together that is a fifth of the time of an import.
			"cache_size(-16384)", "temp_store(MEMORY)",
			// What is deleted is overwritten: what a visitor has had erased must not be read out of the file.
			"secure_delete(ON)",
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

// truncateTries is how often the log is tried to be truncated, and truncatePause the time between two tries. A reader
// that is slow, of this process or of another one, keeps it from being truncated.
const (
	truncateTries = 20
	truncatePause = 100 * time.Millisecond
)

// errLogInUse says that deleted pages can still be read out of the write-ahead log.
var errLogInUse = errors.New("it is deleted, but somebody reads the file, and its log cannot be cleared: try again")

// truncateLog moves what the write-ahead log holds into the file and truncates the log. Else it would hold deleted
// pages as they were.
func (s *Store) truncateLog(ctx context.Context) (err error) {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if _, err := conn.ExecContext(ctx, "PRAGMA busy_timeout(100)"); err != nil {
		return err
	}
	defer func() {
		_, undo := conn.ExecContext(context.WithoutCancel(ctx),
			fmt.Sprintf("PRAGMA busy_timeout(%d)", busyTimeout.Milliseconds()))
		err = errors.Join(err, undo)
	}()
	for range truncateTries {
		var busy, pages, moved int
		err := conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &pages, &moved)
		if err != nil || busy == 0 {
			return err
		}
		select {
		case <-time.After(truncatePause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return errLogInUse
}

// hasText is the SQL function of connections that checks whether its first text has the second in it. Go finds a text
// in 100,000 transcripts several times faster than SQLite's own instr, which compares byte by byte.
const hasText = "has_text"

// connector opens connections to a file that have the function hasText.
type connector struct {
	files *sqlite.Driver
	dsn   string
}

func newConnector(dsn string) (*connector, error) {
	c := &connector{&sqlite.Driver{}, dsn}
	return c, c.files.RegisterFunction(hasText, &sqlite.FunctionImpl{
		NArgs: 2, Deterministic: true, VolatileArgs: true, Scalar: contains,
	})
}

// Connect implements driver.Connector.
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return c.files.Open(c.dsn)
}

// Driver implements driver.Connector.
func (c *connector) Driver() driver.Driver { return c.files }

// contains retains none of its arguments: they are SQLite's.
func contains(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
	text, whole := args[0].(string)
	part, given := args[1].(string)
	return whole && given && strings.Contains(text, part), nil
}
