package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/limit"
)

// In PostgreSQL what visitors have asked for and sites have spent lies beside the sessions, too.
var _ limit.Store = (*PostgresSessions)(nil)

const (
	// holdBucket has the row of a bucket there from now on, and locked until the end of the transaction.
	holdBucket = `INSERT INTO exp.visit_buckets AS held (name, until) VALUES ($1, 0)
		ON CONFLICT (name) DO UPDATE SET until = held.until RETURNING until`
	fillPostgres = `UPDATE exp.visit_buckets SET until = $2 WHERE name = $1`
	// fullPostgres drops a few buckets that are full and that nobody holds: one that is not there is full as well.
	fullPostgres = `DELETE FROM exp.visit_buckets WHERE name IN (
		SELECT name FROM exp.visit_buckets WHERE until < $1 ORDER BY until LIMIT 8 FOR UPDATE SKIP LOCKED)`
	spendPostgres = `
		INSERT INTO exp.visit_spent AS kept (site, day, tokens, cost_usd) VALUES ($1, $2, $3, $4)
		ON CONFLICT (site, day) DO UPDATE SET tokens = kept.tokens + excluded.tokens, cost_usd = kept.cost_usd + excluded.cost_usd`
	forgetSpentPostgres = `DELETE FROM exp.visit_spent WHERE site = $1 AND day < $2`
	makeSaltPostgres    = `INSERT INTO exp.visit_salt (one, salt) VALUES (1, $1) ON CONFLICT (one) DO NOTHING`
)

// errEmpty breaks off a transaction that takes from a bucket which has no token.
var errEmpty = errors.New("a bucket is empty")

// Acquire takes a token from each of the buckets, or none: see limit.Store.
func (s *PostgresSessions) Acquire(ctx context.Context, now time.Time,
	buckets ...limit.Bucket) (empty int, wait time.Duration, err error) {
	empty = -1
	if len(buckets) == 0 {
		return empty, 0, nil
	}
	err = pgx.BeginFunc(ctx, s.server.pool, func(tx pgx.Tx) error {
		until, err := holdBuckets(ctx, tx, buckets)
		if err != nil {
			return err
		}
		var all pgx.Batch
		for i, b := range buckets {
			var next int64
			if next, wait = b.Acquire(now, until[i]); wait > 0 {
				empty = i
				return errEmpty
			}
			all.Queue(fillPostgres, []byte(b.Name), next)
		}
		all.Queue(fullPostgres, now.UnixMicro())
		return tx.SendBatch(ctx, &all).Close()
	})
	if errors.Is(err, errEmpty) {
		return empty, wait, nil
	}
	return -1, 0, s.db.explain(ctx, "count a visitor's message in", err)
}

// holdBuckets locks buckets in the order of their names, so that no two callers wait for each other, and returns until
// when each is used up.
func holdBuckets(ctx context.Context, tx pgx.Tx, buckets []limit.Bucket) ([]int64, error) {
	order := make([]int, len(buckets))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(buckets[a].Name, buckets[b].Name) })
	until := make([]int64, len(buckets))
	var all pgx.Batch
	for _, i := range order {
		all.Queue(holdBucket, []byte(buckets[i].Name)).QueryRow(func(row pgx.Row) error { return row.Scan(&until[i]) })
	}
	return until, tx.SendBatch(ctx, &all).Close()
}

// Spend adds to what a site has used on a day: see limit.Store.
func (s *PostgresSessions) Spend(ctx context.Context, site, day string, spent limit.Spent) error {
	var all pgx.Batch
	all.Queue(spendPostgres, plainText(site), day, spent.Tokens, spent.CostUSD)
	all.Queue(forgetSpentPostgres, plainText(site), limit.RetainedSince(day))
	return s.db.explain(ctx, "count what a turn has used in", s.server.pool.SendBatch(ctx, &all).Close())
}

// Spent returns what a site has used on a day.
func (s *PostgresSessions) Spent(ctx context.Context, site, day string) (spent limit.Spent, err error) {
	err = s.server.pool.QueryRow(ctx, `SELECT tokens, cost_usd FROM exp.visit_spent WHERE site = $1 AND day = $2`,
		plainText(site), day).
		Scan(&spent.Tokens, &spent.CostUSD)
	if errors.Is(err, pgx.ErrNoRows) {
		return limit.Spent{}, nil
	}
	return spent, s.db.explain(ctx, "read what a site has used from", err)
}

// Salt returns the random text of the database; the first that asks makes it.
func (s *PostgresSessions) Salt(ctx context.Context) (salt string, err error) {
	if _, err = s.server.pool.Exec(ctx, makeSaltPostgres, rand.Text()); err == nil {
		err = s.server.pool.QueryRow(ctx, `SELECT salt FROM exp.visit_salt WHERE one = 1`).Scan(&salt)
	}
	return salt, s.db.explain(ctx, "read the salt of", err)
}
