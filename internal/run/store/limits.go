package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/limit"
)

// What visitors have asked for and sites have spent lies beside the sessions, so that it holds over processes and
// restarts.
var _ limit.Store = (*Checkpoints)(nil)

const (
	bucketQuery = `SELECT until FROM visit_buckets WHERE name = ?`
	fillQuery   = `INSERT INTO visit_buckets (name, until) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET until = excluded.until`
	// fullQuery drops a few buckets that are full: one that is not there is full as well.
	fullQuery  = `DELETE FROM visit_buckets WHERE name IN (SELECT name FROM visit_buckets WHERE until < ? ORDER BY until LIMIT 8)`
	spendQuery = `
		INSERT INTO visit_spent (site, day, tokens, cost_usd) VALUES (?, ?, ?, ?)
		ON CONFLICT (site, day) DO UPDATE SET tokens = tokens + excluded.tokens, cost_usd = cost_usd + excluded.cost_usd`
	forgetSpentQuery = `DELETE FROM visit_spent WHERE site = ? AND day < ?`
	spentQuery       = `SELECT tokens, cost_usd FROM visit_spent WHERE site = ? AND day = ?`
	saltQuery        = `SELECT salt FROM visit_salt WHERE one = 1`
	makeSaltQuery    = `INSERT INTO visit_salt (one, salt) VALUES (1, ?) ON CONFLICT (one) DO NOTHING`
)

// Acquire takes a token from each of the buckets, or none: see limit.Store.
func (c *Checkpoints) Acquire(ctx context.Context, now time.Time,
	buckets ...limit.Bucket) (empty int, wait time.Duration, err error) {
	err = c.sqlite.store.write(ctx, func(tx *sql.Tx) error {
		empty, wait = -1, 0
		next := make([]int64, len(buckets))
		for i, b := range buckets {
			var until int64
			if err := tx.QueryRowContext(ctx, bucketQuery, b.Name).Scan(&until); err != nil &&
				!errors.Is(err, sql.ErrNoRows) {
				return err
			}
			if next[i], wait = b.Acquire(now, until); wait > 0 {
				empty = i
				return nil
			}
		}
		for i, b := range buckets {
			if _, err := tx.ExecContext(ctx, fillQuery, b.Name, next[i]); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, fullQuery, now.UnixMicro())
		return err
	})
	return empty, wait, explain("count a visitor's message in", c.sqlite.store.path, err)
}

// Spend adds to what a site has used on a day: see limit.Store.
func (c *Checkpoints) Spend(ctx context.Context, site, day string, s limit.Spent) error {
	return explain("count what a turn has used in", c.sqlite.store.path,
		c.sqlite.store.write(ctx, func(tx *sql.Tx) error {
			if _, err := tx.ExecContext(ctx, spendQuery, site, day, s.Tokens, s.CostUSD); err != nil {
				return err
			}
			_, err := tx.ExecContext(ctx, forgetSpentQuery, site, limit.RetainedSince(day))
			return err
		}))
}

// Spent returns what a site has used on a day.
func (c *Checkpoints) Spent(ctx context.Context, site, day string) (s limit.Spent, err error) {
	err = c.sqlite.store.db.QueryRowContext(ctx, spentQuery, site, day).Scan(&s.Tokens, &s.CostUSD)
	if errors.Is(err, sql.ErrNoRows) {
		return limit.Spent{}, nil
	}
	return s, explain("read what a site has used from", c.sqlite.store.path, err)
}

// Salt returns the random text of the file; the first that asks makes it.
func (c *Checkpoints) Salt(ctx context.Context) (salt string, err error) {
	err = c.sqlite.store.db.QueryRowContext(ctx, saltQuery).Scan(&salt)
	if errors.Is(err, sql.ErrNoRows) {
		err = c.sqlite.store.write(ctx, func(tx *sql.Tx) error {
			if _, err := tx.ExecContext(ctx, makeSaltQuery, rand.Text()); err != nil {
				return err
			}
			return tx.QueryRowContext(ctx, saltQuery).Scan(&salt)
		})
	}
	return salt, explain("read the salt of", c.sqlite.store.path, err)
}
