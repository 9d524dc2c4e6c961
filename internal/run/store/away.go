package store

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// awayCodes are the codes with which PostgreSQL says that the same call may succeed later (its manual, appendix A), by
// their beginnings: a broken connection, too few resources, a server that stops or starts, a transaction that met
// another.
var awayCodes = [...]string{"08", "53", "57P01", "57P02", "57P03", "57P05", "40001", "40P01", "55P03", "25P03"}

// IsUnavailable reports whether an error of a store means that it cannot be reached, is busy or has a full disk, so
// that the same call may succeed later. It is false for nil, for a request that was refused, for a store that was
// closed, and for a call whose context was cancelled. A call that took too long counts as away: whoever gave its
// context a deadline knows whether to try again.
func IsUnavailable(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) {
		return false
	}
	if e, ok := errors.AsType[*Error](err); ok && e.away {
		return true
	}
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		return slices.ContainsFunc(awayCodes[:], func(code string) bool {
			return len(refused.Code) >= len(code) && refused.Code[:len(code)] == code
		})
	}
	if refused, ok := errors.AsType[*sqlite.Error](err); ok {
		switch refused.Code() & 0xff {
		case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL:
			return true
		}
		return refused.Code() == sqlite3.SQLITE_IOERR_SHMSIZE // the disk is full, too
	}
	_, _, network := diagnoseNetwork(err)
	return network || pgconn.SafeToRetry(err)
}
