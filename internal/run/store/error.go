package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Error says in one sentence which operation on a store failed, why, and what to do. It never has a password.
type Error struct {
	// Op is the operation, such as "read events from".
	Op string
	// Store names a file by its path, or a server by its address without user, password and settings.
	Store         string
	Problem, Hint string
	Err           error

	// away is what Away said of the cause before a password was taken out of it.
	away bool
}

// Error returns the sentence.
func (e *Error) Error() string {
	s := e.Op + " " + e.Store + ": " + e.Problem
	if e.Hint != "" {
		s += "; " + e.Hint
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// server names a server in errors.
type server struct {
	kind, url string // the URL is without user, password and settings
	password  string // to be kept out of what the server says
}

// String names the server.
func (s server) String() string { return s.kind + " " + s.url }

// hide removes the password from an error. A server quotes a command that it does not know, which may be the login.
func (s server) hide(err error) error {
	if text := err.Error(); scrub(text, s.password) != scrub(text) {
		return errors.New(scrub(text, s.password))
	}
	return err
}

// scrub makes a text one line and removes secrets from it, also in the form that URLs have.
func scrub(text string, secrets ...string) string {
	for _, secret := range secrets {
		for _, written := range []string{
			secret, url.QueryEscape(secret), url.PathEscape(secret), url.UserPassword("", secret).String()[1:],
		} {
			if written != "" {
				text = strings.ReplaceAll(text, written, "***")
			}
		}
	}
	return strings.Join(strings.Fields(text), " ")
}

// diagnoseNetwork says what is wrong between this program and a server; ok is false when something else is wrong.
func diagnoseNetwork(err error) (problem, hint string, ok bool) {
	if dns, is := errors.AsType[*net.DNSError](err); is {
		return "there is no host " + dns.Name, "correct the URL", true
	}
	timeout, _ := errors.AsType[net.Error](err)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ENOENT):
		return "nothing listens there", "start the server or correct the URL", true
	case timeout != nil && timeout.Timeout(), errors.Is(err, os.ErrDeadlineExceeded),
		errors.Is(err, context.DeadlineExceeded):
		return "it did not answer in time", "see whether the server is overloaded or a firewall is in between", true
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET),
		errors.Is(err, syscall.EPIPE), errors.Is(err, net.ErrClosed):
		return "it broke the connection",
			"see whether the server runs and try again; the next call connects again", true
	}
	return "", "", false
}

// fileName names a store's file in errors.
func fileName(path string) string { return "store " + path }

// explain makes an Error of an error of SQLite or the file system; nil stays nil.
func explain(op, path string, err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	if _, ok := errors.AsType[*Error](err); ok {
		return err
	}
	e := &Error{Op: op, Store: fileName(path), Err: err}
	e.Problem, e.Hint = diagnoseFile(err)
	return e
}

// explain makes an Error as the function explain does. A call whose context has ended gets the error of the context.
func (s *Store) explain(ctx context.Context, op string, err error) error {
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	return explain(op, s.path, err)
}

const moveAway = "move it away and a new one is made (runs keep their results in their own folders)"

// diagnoseFile says what is wrong and what to do.
func diagnoseFile(err error) (problem, hint string) {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "permission denied", "make its folder writable or name another store"
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, fs.ErrExist):
		return "a part of the path is a file, not a folder", "name another store"
	case errors.Is(err, context.DeadlineExceeded):
		return "it took too long", "see whether another process holds the file"
	case errors.Is(err, sql.ErrConnDone), errors.Is(err, errClosed), err.Error() == "sql: database is closed":
		// which has no name
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
		return "the file cannot be opened (is it a folder, or is its folder not writable?)",
			"make it writable or name another store"
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM:
		return "the file is not writable", "make it and its folder writable or name another store"
	case sqlite3.SQLITE_FULL:
		return "the disk is full", "free some space"
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return fmt.Sprintf("another process has held the file for more than %v", busyTimeout),
			"end that process or name another store"
	case sqlite3.SQLITE_IOERR:
		return "the disk failed to read or write (" + err.Error() + ")",
			"see whether the disk is full, or a network drive that SQLite cannot lock"
	}
	return err.Error(), ""
}
