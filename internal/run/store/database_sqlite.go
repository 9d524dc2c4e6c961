package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/graph/saver/sqlite"
)

// Fleet returns what the file stores for the runs of a server. One server uses a file.
func (s *Store) Fleet() *Fleet {
	return &Fleet{db: sqliteDatabase{store: s}}
}

// sqliteDatabase is a file as a database.
type sqliteDatabase struct {
	store *Store
	// prepared are statements that transactions execute again and again.
	prepared map[string]*sqlite.Statement
}

// prepare prepares queries.
func (d *sqliteDatabase) prepare(queries ...string) {
	d.prepared = make(map[string]*sqlite.Statement, len(queries))
	for _, query := range queries {
		d.prepared[query] = sqlite.NewStatement(d.store.db, forSQLite.Replace(query))
	}
}

func (d sqliteDatabase) tx(tx *sql.Tx) sqliteTx { return sqliteTx{tx, d.prepared} }

func (d sqliteDatabase) name() string { return fileName(d.store.path) }

func (d sqliteDatabase) explain(ctx context.Context, op string, err error) error {
	return d.store.explain(ctx, op, err)
}

func (d sqliteDatabase) truncateLog(ctx context.Context) error { return d.store.truncateLog(ctx) }

func (d sqliteDatabase) read(ctx context.Context, query string, args []any, scan func(scanner) error) error {
	rows, err := d.store.db.QueryContext(ctx, forSQLite.Replace(query), args...)
	if err != nil {
		return err
	}
	if err := eachRow(rows, scan); !errors.Is(err, errEnough) {
		return err
	}
	return nil
}

func (d sqliteDatabase) page(ctx context.Context, query string, args []any, scan func(scanner) error) error {
	return d.read(ctx, query, args, scan)
}

func (d sqliteDatabase) exec(ctx context.Context, query string, args ...any) (changed int64, err error) {
	err = d.write(ctx, func(tx transaction) error {
		changed, err = tx.exec(ctx, query, args...)
		return err
	})
	return changed, err
}

func (d sqliteDatabase) write(ctx context.Context, f func(transaction) error) error {
	return d.store.write(ctx, func(tx *sql.Tx) error { return f(d.tx(tx)) })
}

func (d sqliteDatabase) contains(column, arg string) string {
	return hasText + "(" + column + ", " + arg + ")"
}

func (d sqliteDatabase) equalsID(column, arg string) string { return column + " = " + arg }

func (d sqliteDatabase) oneOf(column, arg string, texts []string) (condition string, list any) {
	rows, list := d.listed(arg, texts)
	return column + " IN " + rows, list
}

func (d sqliteDatabase) listed(arg string, texts []string) (rows string, list any) {
	text, _ := json.Marshal(texts) // of strings it cannot fail
	return "(SELECT value AS name FROM json_each(" + arg + "))", string(text)
}

func (d sqliteDatabase) text(text string) string { return text }

func (d sqliteDatabase) bytes(text string) any { return text }

func (d sqliteDatabase) optional(text string) any { return text }

func (d sqliteDatabase) time(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

// forSQLite removes from a query what SQLite does not have or need: it has no schemas and one writer, stores values
// with their own types, and compares text by its bytes.
var forSQLite = strings.NewReplacer("exp.", "", " FOR UPDATE SKIP LOCKED", "", " FOR UPDATE", "", ` COLLATE "C"`, "",
	"::text", "", "::bigint", "", "::boolean", "", "::float8", "", "::int", "", "::timestamptz", "")

// sqliteTx is a transaction on a file. It is the only one that writes, so that it needs no locks.
type sqliteTx struct {
	tx       *sql.Tx
	prepared map[string]*sqlite.Statement
}

func (t sqliteTx) lock(context.Context, ...string) error { return nil }

func (t sqliteTx) now(context.Context) (time.Time, error) { return time.Now(), nil }

func (t sqliteTx) exec(ctx context.Context, query string, args ...any) (changed int64, err error) {
	var done sql.Result
	if prepared := t.prepared[query]; prepared != nil {
		done, err = prepared.Exec(ctx, t.tx, args...)
	} else {
		done, err = t.tx.ExecContext(ctx, forSQLite.Replace(query), args...)
	}
	if err != nil {
		return 0, err
	}
	return done.RowsAffected()
}

func (t sqliteTx) batch(ctx context.Context, statements ...statement) error {
	for _, s := range statements {
		if _, err := t.exec(ctx, s.query, s.args...); err != nil {
			return err
		}
	}
	return nil
}

func (t sqliteTx) read(ctx context.Context, query string, args []any, scan func(scanner) error) error {
	return t.each(ctx, query, [][]any{args}, func(_ int, row scanner) error { return scan(row) })
}

func (t sqliteTx) each(ctx context.Context, query string, lists [][]any,
	scan func(int, scanner) error) (err error) {
	statement, err := t.tx.PrepareContext(ctx, forSQLite.Replace(query))
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
		rows, err := statement.QueryContext(quick, args...)
		if err != nil {
			return err
		}
		if err := eachRow(rows, func(row scanner) error { return scan(i, row) }); err != nil {
			return err
		}
	}
	return nil
}

// eachRow calls scan for all rows and closes them.
func eachRow(rows *sql.Rows, scan func(scanner) error) (err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (t sqliteTx) insert(ctx context.Context, table string, columns []string, rows [][]any) (err error) {
	return t.insertOr(ctx, table, columns, "", rows)
}

func (t sqliteTx) upsert(ctx context.Context, table string, columns []string, key int, rows [][]string) error {
	names, types := namesAndTypes(columns)
	lists := make([][]any, len(rows))
	for i, row := range rows {
		for column, value := range row {
			if types[column] == "text" {
				lists[i] = append(lists[i], value)
			} else {
				lists[i] = append(lists[i], orNull(value))
			}
		}
	}
	return t.insertOr(ctx, table, names, onConflict(names, key), lists)
}

// insertOr inserts rows. A clause says what is done with rows that exist.
func (t sqliteTx) insertOr(ctx context.Context, table string, columns []string, conflict string,
	rows [][]any) (err error) {
	places := strings.TrimSuffix(strings.Repeat("?, ", len(columns)), ", ")
	statement, err := t.tx.PrepareContext(ctx,
		`INSERT INTO `+table+` (`+strings.Join(columns, ", ")+`) VALUES (`+places+`)`+conflict) //nolint:gosec // names of tables and columns are this program's own
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
