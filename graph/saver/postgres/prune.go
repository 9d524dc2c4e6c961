package postgres

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// pruneTimes is how many threads that have expired are deleted at most for each new one. It is more than one, so
	// that a table full of them shrinks.
	pruneTimes = 2
	// pruneLimit bounds how long that may take.
	pruneLimit = 5 * time.Second
)

// idleBefore is when a thread that counts as deleted was written last, at most.
func (s *Saver) idleBefore() int64 {
	if s.ttl <= 0 {
		return math.MinInt64
	}
	return s.now().Add(-s.ttl).UnixMilli()
}

// prune deletes some threads that have expired, each in a transaction of its own, so that nobody waits for two of them.
// What fails is left to the next thread that begins.
func (s *Saver) prune(ctx context.Context) {
	if s.ttl <= 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pruneLimit)
	defer cancel()
	for range pruneTimes {
		if more, err := s.pruneOne(ctx, s.idleBefore()); err != nil || !more {
			break
		}
	}
	_, _ = s.database.Pool.Exec(ctx, s.queries.oldSteps, s.idleBefore())
}

// pruneOne deletes the thread that was written least recently, if that was before a time in milliseconds since 1970 and
// nothing writes it just now, and reports whether there was one.
func (s *Saver) pruneOne(ctx context.Context, usedBefore int64) (deleted bool, err error) {
	err = pgx.BeginFunc(ctx, s.database.Pool, func(tx pgx.Tx) error {
		var name []byte
		if err := tx.QueryRow(ctx, s.queries.expired, usedBefore).Scan(&name); err != nil {
			if errors.Is(err, pgx.ErrNoRows) {
				err = nil
			}
			return err
		}
		deleted = true
		return s.DeleteIn(ctx, tx, string(name))
	})
	return deleted && err == nil, s.failed(ctx, "delete an old session from", err)
}

// ThreadsEnding returns the threads whose names have the given end, in order of name. It reads every thread. No turn
// waits for it.
func (s *Saver) ThreadsEnding(ctx context.Context, end string) (names []string, err error) {
	rows, err := s.database.Pool.Query(ctx, s.queries.ending, []byte(end), s.idleBefore(), 2*len(end))
	if err == nil {
		names, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (string, error) {
			var name []byte
			err := row.Scan(&name)
			return string(name), err
		})
	}
	return names, s.failed(ctx, fmt.Sprintf("look for sessions that end with %q in", end), err)
}
