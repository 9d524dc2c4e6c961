package store

import (
	"context"
	"database/sql"
	"errors"
	"math"
)

const (
	// pruneTimes is how many expired threads leave the file, at most, for each one that comes: more than one,
	// so that a file that is full of them gets smaller.
	pruneTimes = 2
	// pruneRecords is how many records of a thread are deleted at once.
	pruneRecords = 256
)

// prune looks at the next few threads and deletes the first that has expired, or a part of it, so little that no turn notices.
// The look goes round and round, which needs no index by time, that every Save would pay for.
func (c *Checkpoints) prune(ctx context.Context, tx *sql.Tx) error {
	if c.ttl <= 0 {
		return nil
	}
	var last, expired sql.NullInt64
	if err := c.look.row(ctx, tx, []any{c.looked, c.idleBefore()}, &last, &expired); err != nil {
		return err
	}
	if !expired.Valid {
		c.looked = last.Int64 // 0 past the last: from the beginning again
		return nil
	}
	c.looked = expired.Int64 - 1 // what is left of it goes next time
	return cut(ctx, tx, expired.Int64, pruneRecords)
}

// forget deletes a thread with all its records.
func forget(ctx context.Context, tx *sql.Tx, thread string) error {
	var id int64
	err := tx.QueryRowContext(ctx, `SELECT coalesce(max(id), 0) FROM checkpoint_threads WHERE name = ?`, thread).Scan(&id)
	if err != nil || id == 0 {
		return err
	}
	return cut(ctx, tx, id, math.MaxInt64)
}

// cut deletes the newest records of a thread, and the thread when nothing is left.
func cut(ctx context.Context, tx *sql.Tx, id, records int64) error {
	rest, err := cutRecords(ctx, tx, id, records)
	if err != nil {
		return err
	}
	if rest == 0 {
		_, err = tx.ExecContext(ctx, `DELETE FROM checkpoint_threads WHERE id = ?`, id)
	} else {
		_, err = tx.ExecContext(ctx, `UPDATE checkpoint_threads SET last = ? WHERE id = ?`, rest, id)
	}
	return err
}

// cutRecords deletes the newest records of a thread and returns the one before them, 0 for none.
func cutRecords(ctx context.Context, tx *sql.Tx, id, records int64) (rest int64, err error) {
	rows, err := tx.QueryContext(ctx, cutQuery, id, records)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	rest = math.MaxInt64
	for rows.Next() {
		var previous int64
		if err := rows.Scan(&previous); err != nil {
			return 0, err
		}
		rest = min(rest, previous)
	}
	if rest == math.MaxInt64 { // there was none
		rest = 0
	}
	return rest, rows.Err()
}
