package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/limit"
)

var (
	_ limit.Store = (*Checkpoints)(nil)
	_ limit.Store = (*PostgresSessions)(nil)
)

const (
	// lockBucket adds the row of a bucket if there is none, and locks it until the end of the transaction.
	lockBucket = `INSERT INTO exp.visit_buckets AS stored (name, until) VALUES ($1, 0)
		ON CONFLICT (name) DO UPDATE SET until = stored.until RETURNING until`
	fillBucket = `UPDATE exp.visit_buckets SET until = $2 WHERE name = $1`
	// dropFull deletes a few buckets that are full and that no other transaction uses: a bucket without a row is full.
	dropFull = `DELETE FROM exp.visit_buckets WHERE name IN (
		SELECT name FROM exp.visit_buckets WHERE until < $1 ORDER BY until LIMIT 8 FOR UPDATE SKIP LOCKED)`
	addSpent = `
		INSERT INTO exp.visit_spent AS stored (site, day, tokens, cost_usd) VALUES ($1, $2, $3, $4)
		ON CONFLICT (site, day) DO UPDATE SET
			tokens = stored.tokens + excluded.tokens, cost_usd = stored.cost_usd + excluded.cost_usd`
	dropSpent = `DELETE FROM exp.visit_spent WHERE site = $1 AND day < $2`
	readSalt  = `SELECT salt FROM exp.visit_salt WHERE one = 1`
	makeSalt  = `INSERT INTO exp.visit_salt (one, salt) VALUES (1, $1) ON CONFLICT (one) DO NOTHING`
)

// errEmpty rolls back a transaction that takes from a bucket without a token.
var errEmpty = errors.New("a bucket is empty")

// Acquire takes a token from each of the buckets, or none: see limit.Store.
func (s *sessionTables) Acquire(ctx context.Context, now time.Time,
	buckets ...limit.Bucket) (empty int, wait time.Duration, err error) {
	if len(buckets) == 0 {
		return -1, 0, nil
	}
	// In the order of their names, so that no two callers wait for each other.
	order, names := make([]int, len(buckets)), make([][]any, len(buckets))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(buckets[a].Name, buckets[b].Name) })
	for i, at := range order {
		names[i] = []any{s.db.bytes(buckets[at].Name)}
	}
	err = s.db.write(ctx, func(tx transaction) error {
		until := make([]int64, len(buckets))
		err := tx.each(ctx, lockBucket, names, func(i int, row scanner) error { return row.Scan(&until[order[i]]) })
		if err != nil {
			return err
		}
		all := make([]statement, 0, len(buckets)+1)
		for i, b := range buckets {
			var next int64
			if next, wait = b.Acquire(now, until[i]); wait > 0 {
				empty = i
				return errEmpty
			}
			all = append(all, statement{fillBucket, []any{s.db.bytes(b.Name), next}})
		}
		return tx.batch(ctx, append(all, statement{dropFull, []any{now.UnixMicro()}})...)
	})
	if errors.Is(err, errEmpty) {
		return empty, wait, nil
	}
	return -1, 0, s.db.explain(ctx, "count a visitor's message in", err)
}

// Spend adds to what a site has used on a day: see limit.Store.
func (s *sessionTables) Spend(ctx context.Context, site, day string, spent limit.Spent) error {
	site = s.db.text(site)
	return s.db.explain(ctx, "count what a turn has used in", s.db.write(ctx, func(tx transaction) error {
		return tx.batch(ctx, statement{addSpent, []any{site, day, spent.Tokens, spent.CostUSD}},
			statement{dropSpent, []any{site, limit.RetainedSince(day)}})
	}))
}

// Spent returns what a site has used on a day.
func (s *sessionTables) Spent(ctx context.Context, site, day string) (spent limit.Spent, err error) {
	err = s.db.read(ctx, `SELECT tokens, cost_usd FROM exp.visit_spent WHERE site = $1 AND day = $2`,
		[]any{s.db.text(site), day}, func(row scanner) error { return row.Scan(&spent.Tokens, &spent.CostUSD) })
	return spent, s.db.explain(ctx, "read what a site has used from", err)
}

// Salt returns the random text of the database, which the first call makes.
func (s *sessionTables) Salt(ctx context.Context) (salt string, err error) {
	read := func() error {
		return s.db.read(ctx, readSalt, nil, func(row scanner) error { return row.Scan(&salt) })
	}
	if err = read(); err == nil && salt == "" {
		if _, err = s.db.exec(ctx, makeSalt, rand.Text()); err == nil {
			err = read()
		}
	}
	return salt, s.db.explain(ctx, "read the salt of", err)
}
