package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// FileError says in one sentence what could not be done with a store's file, and what to do about it.
type FileError struct {
	Op, Path      string
	Problem, Hint string
	Err           error
}

// Error returns the sentence.
func (e *FileError) Error() string {
	s := fmt.Sprintf("%s store %s: %s", e.Op, e.Path, e.Problem)
	if e.Hint != "" {
		s += "; " + e.Hint
	}
	return s
}

// Unwrap returns the cause.
func (e *FileError) Unwrap() error { return e.Err }

// explain makes a FileError of what SQLite or the file system said; nil stays nil.
func explain(op, path string, err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	if _, ok := errors.AsType[*FileError](err); ok {
		return err
	}
	e := &FileError{Op: op, Path: path, Err: err}
	e.Problem, e.Hint = diagnose(err)
	return e
}

// explain is explain, but a call that was interrupted because its context has ended says so.
func (s *Store) explain(ctx context.Context, op string, err error) error {
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	return explain(op, s.path, err)
}

const moveAway = "move it away and a new one is made (runs keep their results in their own folders)"

func diagnose(err error) (problem, hint string) {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "permission denied", "make its folder writable or name another store"
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, fs.ErrExist):
		return "a part of the path is a file, not a folder", "name another store"
	case errors.Is(err, context.DeadlineExceeded):
		return "it took too long", "see whether another process holds the file"
	case errors.Is(err, sql.ErrConnDone), errors.Is(err, errClosed), err.Error() == "sql: database is closed": // which has no name
		return "it is closed", ""
	}
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return err.Error(), ""
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_NOTADB:
		return "the file is not a SQLite database", moveAway
	case sqlite3.SQLITE_CORRUPT:
		return "the file is damaged", moveAway
	case sqlite3.SQLITE_CANTOPEN:
		return "the file cannot be opened (is it a folder, or is its folder not writable?)", "make it writable or name another store"
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM:
		return "the file is not writable", "make it and its folder writable or name another store"
	case sqlite3.SQLITE_FULL:
		return "the disk is full", "free some space"
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return fmt.Sprintf("another process has held the file for more than %v", busyTimeout), "end that process or name another store"
	case sqlite3.SQLITE_IOERR:
		return "the disk failed to read or write (" + err.Error() + ")", "see whether the disk is full, or a network drive that SQLite cannot lock"
	}
	return err.Error(), ""
}
