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
	db      database
	packers packers
}

// Annotations returns what people said of the runs.
func (f *Fleet) Annotations() *Annotations { return &Annotations{f.db} }

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

// fault makes an error of a request.
func (f *Fleet) fault(op, problem, hint string, cause error) error {
	return &Error{Op: op, Store: f.db.name(), Problem: problem, Hint: hint, Err: cause}
}

// write runs do in a transaction and explains its error.
func (f *Fleet) write(ctx context.Context, op string, do func(transaction) error) error {
	return f.db.explain(ctx, op, f.db.write(ctx, do))
}

// read reads with one query and explains its error.
func (f *Fleet) read(ctx context.Context, op, query string, args []any, scan func(scanner) error) error {
	return f.db.explain(ctx, op, f.db.page(ctx, query, args, scan))
}

// Ping reports by its error whether the store can be reached.
func (f *Fleet) Ping(ctx context.Context) error {
	return f.read(ctx, "reach", `SELECT 1`, nil, func(row scanner) error { return row.Scan(new(int64)) })
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
