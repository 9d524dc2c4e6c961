package store

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

// Fleet returns what the database keeps for the runs of the servers that share it.
func (p *Postgres) Fleet() *Fleet { return &Fleet{db: postgresFleet{p}, annotations: p.Annotations()} }

// postgresFleet is a database as Fleet uses it.
type postgresFleet struct{ db *Postgres }

func (d postgresFleet) place() string { return d.db.server.String() }

func (d postgresFleet) explain(ctx context.Context, op string, err error) error {
	return d.db.explainColumns(ctx, op, err,
		"the tables exp.fleet_* are not those that this program made: name another database")
}

// forgotten has nothing to do: a server writes over what was deleted in its own time.
func (d postgresFleet) forgotten(context.Context) error { return nil }

func (d postgresFleet) contains(column, arg string) string {
	return "strpos(" + column + ", " + arg + ") > 0"
}

func (d postgresFleet) read(ctx context.Context, query string, args []any, scan func(fleetRow) error) error {
	return d.db.page(ctx, query, args, func(rows pgx.Rows) (goOn bool, err error) { return true, scan(rows) })
}

func (d postgresFleet) write(ctx context.Context, f func(fleetTx) error) error {
	return pgx.BeginFunc(ctx, d.db.pool, func(tx pgx.Tx) error { return f(postgresFleetTx{tx}) })
}

const (
	// fleetLock is the first number of the locks of transactions.
	fleetLock = 0x666c7474
	// frozenAfter ends the transaction of a server that has stopped in its midst, as nobody else gets its locks
	// meanwhile.
	frozenAfter = "10s"
)

// postgresFleetTx is a transaction on a database.
type postgresFleetTx struct{ tx pgx.Tx }

func (t postgresFleetTx) lock(ctx context.Context, names ...string) error {
	for _, name := range names {
		_, err := t.tx.Exec(ctx, `SELECT set_config('idle_in_transaction_session_timeout', $3, true), pg_advisory_xact_lock($1, hashtext($2))`,
			int32(fleetLock), name, frozenAfter)
		if err != nil {
			return err
		}
	}
	return nil
}

func (t postgresFleetTx) now(ctx context.Context) (now time.Time, err error) {
	err = t.tx.QueryRow(ctx, `SELECT clock_timestamp()`).Scan(&now)
	return now, err
}

func (t postgresFleetTx) exec(ctx context.Context, query string, args ...any) (int64, error) {
	done, err := t.tx.Exec(ctx, query, args...)
	return done.RowsAffected(), err
}

func (t postgresFleetTx) read(ctx context.Context, query string, args []any, scan func(fleetRow) error) error {
	rows, err := t.tx.Query(ctx, query, args...)
	if err != nil {
		return err
	}
	return scanRows(rows, scan)
}

// scanRows hands over all rows and closes them.
func scanRows(rows pgx.Rows, scan func(fleetRow) error) error {
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (t postgresFleetTx) each(ctx context.Context, query string, lists [][]any,
	scan func(int, fleetRow) error) (err error) {
	var batch pgx.Batch
	for _, args := range lists {
		batch.Queue(query, args...)
	}
	results := t.tx.SendBatch(ctx, &batch)
	defer func() { err = errors.Join(err, results.Close()) }()
	for i := range lists {
		rows, err := results.Query()
		if err != nil {
			return err
		}
		if err := scanRows(rows, func(row fleetRow) error { return scan(i, row) }); err != nil {
			return err
		}
	}
	return nil
}

func (t postgresFleetTx) insert(ctx context.Context, table string, columns []string, rows [][]any) error {
	_, err := t.tx.CopyFrom(ctx, pgx.Identifier{"exp", table}, columns, pgx.CopyFromRows(rows))
	return err
}
