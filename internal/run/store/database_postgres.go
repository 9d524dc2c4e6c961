package store

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Fleet returns what the database stores for the runs of the servers that share it.
func (p *Postgres) Fleet() *Fleet {
	return &Fleet{
		db: postgresDatabase{
			p, "the tables exp.fleet_* are not those that this program made: name another database",
		},
	}
}

// postgresDatabase is a PostgreSQL database as a database.
type postgresDatabase struct {
	db *Postgres
	// columns is the hint of an error about a missing column.
	columns string
}

func (d postgresDatabase) name() string { return d.db.server.String() }

func (d postgresDatabase) explain(ctx context.Context, op string, err error) error {
	err = d.db.explain(ctx, op, err)
	e, ok := errors.AsType[*Error](err)
	refused, is := errors.AsType[*pgconn.PgError](err)
	if ok && is && refused.Code == undefinedColumn && d.columns != "" {
		e.Hint = d.columns
	}
	return err
}

// truncateLog has nothing to do: a server overwrites what was deleted in its own time.
func (d postgresDatabase) truncateLog(context.Context) error { return nil }

func (d postgresDatabase) read(ctx context.Context, query string, args []any, scan func(scanner) error) error {
	rows, err := d.db.pool.Query(ctx, query, args...)
	if err != nil {
		return err
	}
	if err := scanRows(rows, scan); !errors.Is(err, errEnough) {
		return err
	}
	return nil
}

func (d postgresDatabase) page(ctx context.Context, query string, args []any, scan func(scanner) error) (err error) {
	var batch pgx.Batch
	// Without statistics of a newly filled table, the server would read and sort the whole rest of the table for every
	// page. The setting ends with the batch, which is one transaction.
	batch.Queue(`SELECT set_config('enable_sort', 'off', true)`)
	batch.Queue(query, args...)
	results := d.db.pool.SendBatch(ctx, &batch)
	defer func() { err = errors.Join(err, results.Close()) }()
	if _, err := results.Exec(); err != nil {
		return err
	}
	rows, err := results.Query()
	if err != nil {
		return err
	}
	if err := scanRows(rows, scan); !errors.Is(err, errEnough) {
		return err
	}
	return nil
}

func (d postgresDatabase) exec(ctx context.Context, query string, args ...any) (int64, error) {
	done, err := d.db.pool.Exec(ctx, query, args...)
	return done.RowsAffected(), err
}

func (d postgresDatabase) write(ctx context.Context, f func(transaction) error) error {
	return pgx.BeginFunc(ctx, d.db.pool, func(tx pgx.Tx) error { return f(postgresTx{tx}) })
}

func (d postgresDatabase) contains(column, arg string) string {
	return "strpos(" + column + ", " + arg + ") > 0"
}

// equalsID compares text, whatever the type of the column. PostgreSQL writes UUIDs in lower case.
func (d postgresDatabase) equalsID(column, arg string) string {
	return column + `::text = CASE WHEN pg_typeof(` + column + `) = 'uuid'::regtype THEN lower(` + arg +
		`::text) ELSE ` + arg + `::text END`
}

func (d postgresDatabase) oneOf(column, arg string, texts []string) (condition string, list any) {
	return column + " = ANY (" + arg + ")", texts
}

func (d postgresDatabase) listed(arg string, texts []string) (rows string, list any) {
	return "unnest(" + arg + "::text[]) AS listed (name)", texts
}

func (d postgresDatabase) text(text string) string { return plainText(text) }

func (d postgresDatabase) bytes(text string) any { return []byte(text) }

func (d postgresDatabase) optional(text string) any { return orNull(text) }

func (d postgresDatabase) time(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t
}

const (
	// transactionLock is the first number of the locks of transactions.
	transactionLock = 0x666c7474
	// frozenAfter ends the transaction of a server that has stopped in its midst, as nobody else gets its locks
	// meanwhile.
	frozenAfter = "10s"
)

// postgresTx is a transaction on a database.
type postgresTx struct{ tx pgx.Tx }

func (t postgresTx) lock(ctx context.Context, names ...string) error {
	for _, name := range names {
		_, err := t.tx.Exec(ctx, `SELECT set_config('idle_in_transaction_session_timeout', $3, true),
			pg_advisory_xact_lock($1, hashtext($2))`,
			int32(transactionLock), name, frozenAfter)
		if err != nil {
			return err
		}
	}
	return nil
}

func (t postgresTx) now(ctx context.Context) (now time.Time, err error) {
	err = t.tx.QueryRow(ctx, `SELECT clock_timestamp()`).Scan(&now)
	return now, err
}

func (t postgresTx) exec(ctx context.Context, query string, args ...any) (int64, error) {
	done, err := t.tx.Exec(ctx, query, args...)
	return done.RowsAffected(), err
}

func (t postgresTx) batch(ctx context.Context, statements ...statement) error {
	var batch pgx.Batch
	for _, s := range statements {
		batch.Queue(s.query, s.args...)
	}
	return t.tx.SendBatch(ctx, &batch).Close()
}

func (t postgresTx) read(ctx context.Context, query string, args []any, scan func(scanner) error) error {
	rows, err := t.tx.Query(ctx, query, args...)
	if err != nil {
		return err
	}
	return scanRows(rows, scan)
}

// scanRows hands over all rows and closes them.
func scanRows(rows pgx.Rows, scan func(scanner) error) error {
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (t postgresTx) each(ctx context.Context, query string, lists [][]any,
	scan func(int, scanner) error) (err error) {
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
		if err := scanRows(rows, func(row scanner) error { return scan(i, row) }); err != nil {
			return err
		}
	}
	return nil
}

func (t postgresTx) insert(ctx context.Context, table string, columns []string, rows [][]any) error {
	_, err := t.tx.CopyFrom(ctx, pgx.Identifier{"exp", table}, columns, pgx.CopyFromRows(rows))
	return err
}

const (
	// rowsPerUpsert and upsertBytes bound the rows of one statement.
	rowsPerUpsert = 1_000
	upsertBytes   = 8 << 20
)

func (t postgresTx) upsert(ctx context.Context, table string, columns []string, key int, rows [][]string) error {
	names, types := namesAndTypes(columns)
	var values, arrays []string
	for i, name := range names {
		// Text, as arrays of JSONB take twice the time.
		values, arrays = append(values, name+"::"+types[i]), append(arrays, "$"+strconv.Itoa(i+1)+"::text[]")
	}
	query := `INSERT INTO exp.` + table + ` (` + strings.Join(names, ", ") + `)
		SELECT ` + strings.Join(values, ", ") + ` FROM unnest(` + strings.Join(arrays, ", ") + `)
			WITH ORDINALITY AS incoming (` + strings.Join(names, ", ") + `, place_of_row) ORDER BY place_of_row` +
		onConflict(names, key)
	for len(rows) > 0 {
		arrays := make([][]*string, len(names))
		n, bytes := 0, 0
		for ; n < len(rows) && n < rowsPerUpsert && bytes < upsertBytes; n++ {
			for column := range arrays {
				value := &rows[n][column]
				if bytes += len(*value); *value == "" {
					value = nil
				}
				arrays[column] = append(arrays[column], value)
			}
		}
		args := make([]any, len(arrays))
		for column, array := range arrays {
			args[column] = array
		}
		if _, err := t.tx.Exec(ctx, query, args...); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}
