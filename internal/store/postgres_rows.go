package store

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// page reads a page of a long list whose order is that of an index, row by row until scan wants no more.
func (p *Postgres) page(ctx context.Context, query string, args []any, scan func(pgx.Rows) (goOn bool, err error)) (err error) {
	var batch pgx.Batch
	// Without statistics of a table that was just filled the server would rather read all that is left of it and sort that, for every page.
	// The setting ends with the batch, which is one transaction.
	batch.Queue(`SELECT set_config('enable_sort', 'off', true)`)
	batch.Queue(query, args...)
	results := p.pool.SendBatch(ctx, &batch)
	defer func() { err = errors.Join(err, results.Close()) }()
	if _, err := results.Exec(); err != nil {
		return err
	}
	rows, err := results.Query()
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if goOn, err := scan(rows); err != nil || !goOn {
			return err
		}
	}
	return rows.Err()
}

// cell is a value for a column of a table. Cast names a type that PostgreSQL makes the column's own of; without one the value is text that is
// read as whatever the column is.
type cell struct {
	column, cast string
	value        any
}

// upsert replaces the row with an id, or adds one. It asks nothing of the table but the columns, since an application's has its own types, and
// perhaps no key. So writers wait for one another instead.
func (p *Postgres) upsert(ctx context.Context, table, key, id string, cells []cell) error {
	var sets, columns, places []string
	args := []any{id}
	for _, c := range cells {
		args = append(args, c.value)
		place := "$" + strconv.Itoa(len(args)) + c.cast
		sets, columns, places = append(sets, c.column+" = "+place), append(columns, c.column), append(places, place)
	}
	return pgx.BeginFunc(ctx, p.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1, hashtext($2))`, int32(upsertLock), table+" "+id); err != nil {
			return err
		}
		done, err := tx.Exec(ctx, `UPDATE `+table+` SET `+strings.Join(sets, ", ")+` WHERE `+isKey(key), args...)
		if err != nil || done.RowsAffected() > 0 {
			return err
		}
		_, err = tx.Exec(ctx, `INSERT INTO `+table+` (`+key+`, `+strings.Join(columns, ", ")+`)
			VALUES ($1, `+strings.Join(places, ", ")+`)`, args...)
		return err
	})
}

// upsertLock is the first number of the locks that upsert holds.
const upsertLock = 0x72657068

// isKey is the condition that a column is the first argument, which is text whatever the column is. UUIDs come in small letters.
func isKey(column string) string {
	return column + `::text = CASE WHEN pg_typeof(` + column + `) = 'uuid'::regtype THEN lower($1::text) ELSE $1::text END`
}
