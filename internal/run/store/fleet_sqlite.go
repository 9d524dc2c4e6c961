package store

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"
)

// Fleet returns what the file keeps for the runs of a server. One server uses a file.
func (s *Store) Fleet() *Fleet { return &Fleet{db: sqliteFleet{s}, annotations: s.Annotations()} }

// sqliteFleet is a file as Fleet uses it.
type sqliteFleet struct{ store *Store }

func (d sqliteFleet) place() string { return fileName(d.store.path) }

func (d sqliteFleet) explain(ctx context.Context, op string, err error) error {
	return d.store.explain(ctx, op, err)
}

func (d sqliteFleet) forgotten(ctx context.Context) error { return d.store.truncateLog(ctx) }

func (d sqliteFleet) contains(column, arg string) string {
	return hasText + "(" + column + ", " + arg + ")"
}

func (d sqliteFleet) read(ctx context.Context, query string, args []any, scan func(fleetRow) error) error {
	return d.store.each(ctx, withoutSchema(query), args, func(rows *sql.Rows) error { return scan(rows) })
}

func (d sqliteFleet) write(ctx context.Context, f func(fleetTx) error) error {
	return d.store.write(ctx, func(tx *sql.Tx) error { return f(sqliteFleetTx{tx}) })
}

// withoutSchema makes a query for SQLite, which has no schemas.
func withoutSchema(query string) string { return strings.ReplaceAll(query, "exp.", "") }

// sqliteFleetTx is a transaction on a file. It is the only one that writes, so that it needs no locks.
type sqliteFleetTx struct{ tx *sql.Tx }

func (t sqliteFleetTx) lock(context.Context, ...string) error { return nil }

func (t sqliteFleetTx) now(context.Context) (time.Time, error) { return time.Now(), nil }

func (t sqliteFleetTx) exec(ctx context.Context, query string, args ...any) (int64, error) {
	done, err := t.tx.ExecContext(ctx, withoutSchema(query), args...)
	if err != nil {
		return 0, err
	}
	return done.RowsAffected()
}

func (t sqliteFleetTx) read(ctx context.Context, query string, args []any, scan func(fleetRow) error) error {
	return t.each(ctx, query, [][]any{args}, func(_ int, row fleetRow) error { return scan(row) })
}

func (t sqliteFleetTx) each(ctx context.Context, query string, lists [][]any,
	scan func(int, fleetRow) error) (err error) {
	statement, err := t.tx.PrepareContext(ctx, withoutSchema(query))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, statement.Close()) }()
	quick := ctx
	if len(lists) > 1 {
		quick = unwatched(ctx)
	}
	for i, args := range lists {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := eachRow(quick, statement, args, func(row fleetRow) error { return scan(i, row) }); err != nil {
			return err
		}
	}
	return nil
}

func eachRow(ctx context.Context, statement *sql.Stmt, args []any, scan func(fleetRow) error) (err error) {
	rows, err := statement.QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (t sqliteFleetTx) insert(ctx context.Context, table string, columns []string, rows [][]any) (err error) {
	places := strings.TrimSuffix(strings.Repeat("?, ", len(columns)), ", ")
	statement, err := t.tx.PrepareContext(ctx, `INSERT INTO `+table+` (`+strings.Join(columns, ", ")+`) VALUES (`+places+`)`) //nolint:gosec // names of tables and columns are this program's own
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, statement.Close()) }()
	quick := unwatched(ctx)
	for _, row := range rows {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := statement.ExecContext(quick, row...); err != nil {
			return err
		}
	}
	return nil
}

// unwatched returns a context for the many short statements of one transaction, which is looked at between two of them:
// the driver starts a goroutine for each statement whose context can end, which costs more than the statement.
func unwatched(ctx context.Context) context.Context { return context.WithoutCancel(ctx) }
