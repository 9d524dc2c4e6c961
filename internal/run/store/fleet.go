package store

import (
	"context"
	"errors"
	"time"

	"github.com/rehearse-dev/rehearse/internal/replay"
)

// Fleet keeps what the runs of servers and workers need: runs with their specs, results, events and artifacts; leases,
// schedules, tokens and blobs. It keeps them in a store's file, which one server uses, or in a PostgreSQL database,
// which many share, with the same answers. Store.Fleet and Postgres.Fleet return it; it ends with what returned it. It
// is safe for concurrent use.
//
// Every method that writes does all of it or nothing, and may be called again after an error for which Away is true,
// also when only the answer was lost. Errors of the database and of requests are *Error; errors.Is tells the sentinels
// of this package apart. Text that databases cannot keep (NUL, invalid UTF-8) comes back with U+FFFD in its place,
// times in UTC and in microseconds.
type Fleet struct {
	db          fleetDB
	packers     packers
	annotations *Annotations
}

// Annotations returns what people said of the runs.
func (f *Fleet) Annotations() *Annotations { return f.annotations }

// What went wrong with a request, wrapped in an *Error.
var (
	// ErrUnknown means that there is no such run, result, schedule, token or blob.
	ErrUnknown = errors.New("not there")
	// ErrExists means that the name is taken.
	ErrExists = errors.New("already there")
	// ErrRunEnded means that the run has ended, so that nothing about it can change.
	ErrRunEnded = errors.New("the run has ended")
	// ErrRunUnfinished means that the run has not ended, so that it cannot be deleted.
	ErrRunUnfinished = errors.New("the run has not ended")
	// ErrLeaseLost means that a fence was demanded that no longer holds. Nothing was written.
	ErrLeaseLost = errors.New("the lease is lost")
	// ErrBusy means that somebody else holds it at present.
	ErrBusy = errors.New("held by somebody else")
	// ErrCursor means that a cursor was not given out for such a page.
	ErrCursor = errors.New("invalid cursor")
	// ErrQueueFull means that too many runs wait.
	ErrQueueFull = errors.New("too many runs wait")
	// ErrOtherSubmission means that the idempotency key belongs to another submission of the same caller.
	ErrOtherSubmission = errors.New("the idempotency key was used for another submission")
	// ErrHash means that bytes do not have the hash that was named.
	ErrHash = errors.New("the hash does not match")
	// ErrInvalid means that the request makes no sense.
	ErrInvalid = errors.New("invalid")
	// ErrTooLarge means that something has more bytes than can be kept.
	ErrTooLarge = errors.New("too large")
	// ErrChanged means that somebody else was faster.
	ErrChanged = errors.New("changed meanwhile")
)

// fleetDB is a database as Fleet uses it. Queries are those of PostgreSQL that SQLite understands, too: $1 for the
// first argument, the schema exp before every table; values are int64, float64, string, []byte, or nil.
type fleetDB interface {
	// read hands every row of one query to scan.
	read(ctx context.Context, query string, args []any, scan func(fleetRow) error) error
	// write runs f in a transaction, which its error undoes.
	write(ctx context.Context, f func(fleetTx) error) error
	// contains is the condition that a column's text has the text of an argument in it.
	contains(column, arg string) string
	explain(ctx context.Context, op string, err error) error
	// forgotten waits until nothing of what was replaced is left in the files.
	forgotten(ctx context.Context) error
	// place names the database in errors.
	place() string
}

// fleetTx is a transaction that writes.
type fleetTx interface {
	// lock waits until no other transaction holds a lock with one of the names, and holds them until its end.
	lock(ctx context.Context, names ...string) error
	// now is the time by the database's clock, which all servers share.
	now(ctx context.Context) (time.Time, error)
	read(ctx context.Context, query string, args []any, scan func(fleetRow) error) error
	exec(ctx context.Context, query string, args ...any) (changed int64, err error)
	// each runs a query with each list of arguments, and hands the rows to scan with the number of the list.
	each(ctx context.Context, query string, lists [][]any, scan func(i int, row fleetRow) error) error
	// insert adds many rows to a table of the schema.
	insert(ctx context.Context, table string, columns []string, rows [][]any) error
}

// fleetRow is one row of an answer.
type fleetRow interface{ Scan(to ...any) error }

// fault makes an error of a request.
func (f *Fleet) fault(op, problem, hint string, cause error) error {
	return &Error{Op: op, Store: f.db.place(), Problem: problem, Hint: hint, Err: cause}
}

// write runs do in a transaction and explains its error.
func (f *Fleet) write(ctx context.Context, op string, do func(fleetTx) error) error {
	return f.db.explain(ctx, op, f.db.write(ctx, do))
}

// read reads with one query and explains its error.
func (f *Fleet) read(ctx context.Context, op, query string, args []any, scan func(fleetRow) error) error {
	return f.db.explain(ctx, op, f.db.read(ctx, query, args, scan))
}

// Ping reports by its error whether the store can be reached.
func (f *Fleet) Ping(ctx context.Context) error {
	return f.read(ctx, "reach", `SELECT 1`, nil, func(row fleetRow) error { return row.Scan(new(int64)) })
}

// micros returns a time as databases keep it.
func micros(t time.Time) int64 { return t.UnixMicro() }

// microsOf returns a time as databases keep it, nil for none.
func microsOf(t *time.Time) any {
	if t == nil || t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

// word returns text as it is filtered by: of longer text only the beginning counts, as indexes have bounds.
func word(text string) string { return cutText(plainText(text), replay.MaxName) }
