package store

import (
	"context"
	"database/sql"
	"time"
)

const (
	heldQuery = `SELECT bytes FROM checkpoint_bytes WHERE one = 1`
	// oldestQuery finds the sessions that were used least recently.
	oldestQuery = `SELECT name FROM checkpoint_threads WHERE used <= ? ORDER BY used, id LIMIT 16`
	// mostEvicted bounds how many sessions one message evicts, times 16: others wait for the file.
	mostEvicted = 64
)

// MakeRoom makes room for a new session of so many bytes where all sessions together may hold most bytes: it forgets those that were used least recently,
// and none that was used after the given time. It reports whether there is room. Leads stay.
func (c *Checkpoints) MakeRoom(ctx context.Context, most, need int64, idleSince time.Time) (ok bool, err error) {
	if need > most { // nobody need go for it
		return false, nil
	}
	held, err := c.held(ctx)
	if err != nil || held+need <= most {
		return err == nil, explain("look for room in", c.store.path, err)
	}
	for range mostEvicted {
		evicted := 0
		err := c.store.write(ctx, func(tx *sql.Tx) (err error) {
			evicted, ok, err = c.evict(ctx, tx, most-need, idleSince)
			return err
		})
		if err != nil || ok || evicted == 0 {
			return ok, explain("make room in", c.store.path, err)
		}
	}
	return false, nil
}

// evict forgets some sessions, until no more than most bytes are held.
func (c *Checkpoints) evict(ctx context.Context, tx *sql.Tx, most int64, idleSince time.Time) (evicted int, ok bool, err error) {
	rows, err := tx.QueryContext(ctx, oldestQuery, idleSince.UnixMilli())
	if err != nil {
		return 0, false, err
	}
	names, err := texts(rows)
	if err != nil {
		return 0, false, err
	}
	for i := 0; ; i++ {
		var held int64
		if err := tx.QueryRowContext(ctx, heldQuery).Scan(&held); err != nil {
			return evicted, false, err
		}
		if held <= most || i == len(names) {
			return evicted, held <= most, nil
		}
		if err := c.DeleteIn(ctx, tx, names[i]); err != nil {
			return evicted, false, err
		}
		evicted++
	}
}

// held returns how many bytes all sessions hold.
func (c *Checkpoints) held(ctx context.Context) (bytes int64, err error) {
	err = c.store.db.QueryRowContext(ctx, heldQuery).Scan(&bytes)
	return bytes, err
}
