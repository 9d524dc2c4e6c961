package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// database is a SQLite file or a PostgreSQL database. Queries are those of PostgreSQL: $1 for the first argument, the
// schema exp before every table. SQLite runs them without the schema, casts (::text), collations and row locks (FOR
// UPDATE). Values are int64, float64, string, []byte, nil, and what the methods for values return.
type database interface {
	// read calls scan for every row of a query. An error errEnough of scan ends reading without an error.
	read(ctx context.Context, query string, args []any, scan func(scanner) error) error
	// page is read for a part of a long list in the order of an index.
	page(ctx context.Context, query string, args []any, scan func(scanner) error) error
	// write runs f in a transaction, which its error rolls back.
	write(ctx context.Context, f func(transaction) error) error
	// exec runs one statement that writes.
	exec(ctx context.Context, query string, args ...any) (changed int64, err error)
	explain(ctx context.Context, op string, err error) error
	// truncateLog waits until nothing of what was deleted or replaced is left in the files.
	truncateLog(ctx context.Context) error
	// name names the database in errors.
	name() string

	// contains is the condition that a column's text contains an argument.
	contains(column, arg string) string
	// equalsID is the condition that a column equals an argument with an id. The column may be of an application, which
	// has UUIDs.
	equalsID(column, arg string) string
	// oneOf is the condition that a column equals one of a list of texts, which the returned value is as an argument.
	oneOf(column, arg string, texts []string) (condition string, list any)
	// listed is what a query reads a list of texts from, as rows with the column name. The returned value is the
	// argument.
	listed(arg string, texts []string) (rows string, list any)
	// text is text as a column of the database can store it.
	text(text string) string
	// bytes is text for a column that allows every byte; it is read as []byte.
	bytes(text string) any
	// optional is text for a column that is NULL in PostgreSQL if there is none.
	optional(text string) any
	// time is a time, or NULL for the zero time; storedTime reads it.
	time(t time.Time) any
}

// transaction is a transaction that writes.
type transaction interface {
	// lock waits until no other transaction holds a lock with one of the names, and holds them until its end.
	lock(ctx context.Context, names ...string) error
	// now is the time by the database's clock, which all servers share.
	now(ctx context.Context) (time.Time, error)
	read(ctx context.Context, query string, args []any, scan func(scanner) error) error
	exec(ctx context.Context, query string, args ...any) (changed int64, err error)
	// batch runs statements in one round trip.
	batch(ctx context.Context, statements ...statement) error
	// each runs a query with each list of arguments, and calls scan for the rows with the number of the list.
	each(ctx context.Context, query string, lists [][]any, scan func(i int, row scanner) error) error
	// insert adds many rows to a table of the schema.
	insert(ctx context.Context, table string, columns []string, rows [][]any) error
	// upsert adds many rows to a table of the schema, in their order, or replaces those that exist. The first columns
	// are the key. A column is its name, followed by its type if it is not text; "" is NULL then, and in PostgreSQL
	// always.
	upsert(ctx context.Context, table string, columns []string, key int, rows [][]string) error
}

// statement is a query without rows.
type statement struct {
	query string
	args  []any
}

// scanner is one row of an answer.
type scanner interface{ Scan(to ...any) error }

// errEnough ends reading before the last row.
var errEnough = errors.New("enough was read")

// namesAndTypes splits columns as upsert gets them.
func namesAndTypes(columns []string) (names, types []string) {
	for _, column := range columns {
		name, kind, _ := strings.Cut(column, " ")
		names, types = append(names, name), append(types, cmp.Or(kind, "text"))
	}
	return names, types
}

// onConflict is the clause that replaces a row that exists. The first columns are the key.
func onConflict(columns []string, key int) string {
	var sets []string
	for _, column := range columns[key:] {
		sets = append(sets, column+" = excluded."+column)
	}
	return ` ON CONFLICT (` + strings.Join(columns[:key], ", ") + `) DO UPDATE SET ` + strings.Join(sets, ", ")
}

// conditions are those of a query, with its arguments.
type conditions struct {
	all  []string
	args []any
}

// arg adds an argument and returns its name.
func (q *conditions) arg(value any) string {
	q.args = append(q.args, value)
	return fmt.Sprintf("$%d", len(q.args))
}

// where adds a condition in which %s stands for an argument.
func (q *conditions) where(condition string, value any) {
	q.all = append(q.all, fmt.Sprintf(condition, q.arg(value)))
}

func (q *conditions) String() string { return strings.Join(q.all, " AND ") }

// cell is a value for a column of a table. cast names a type that PostgreSQL converts to the column's own. Without a
// cast, the value is text and is read as the column's type.
type cell struct {
	column, cast string
	value        any
}

// replaceRow replaces the row with an id, or adds one, if may returns true; no other caller does so in between. It uses
// only the columns of the table, since an application's table has its own types and perhaps no unique key.
func replaceRow(ctx context.Context, db database, table, key, id string, cells []cell,
	may func(transaction) (bool, error)) error {
	var sets, columns, places []string
	args := []any{id}
	for _, c := range cells {
		args = append(args, c.value)
		place := "$" + strconv.Itoa(len(args)) + c.cast
		sets, columns, places = append(sets, c.column+" = "+place), append(columns, c.column), append(places, place)
	}
	return db.write(ctx, func(tx transaction) error {
		if err := tx.lock(ctx, table+" "+id); err != nil {
			return err
		}
		if may != nil {
			if yes, err := may(tx); err != nil || !yes {
				return err
			}
		}
		changed, err := tx.exec(ctx,
			`UPDATE `+table+` SET `+strings.Join(sets, ", ")+` WHERE `+db.equalsID(key, "$1"), args...)
		if err != nil || changed > 0 {
			return err
		}
		_, err = tx.exec(ctx, `INSERT INTO `+table+` (`+key+`, `+strings.Join(columns, ", ")+`)
			VALUES ($1, `+strings.Join(places, ", ")+`)`, args...)
		return err
	})
}

// storedTime reads a time that is a timestamp, microseconds, or NULL for the zero time.
type storedTime struct{ to *time.Time }

// Scan implements sql.Scanner.
func (s storedTime) Scan(stored any) error {
	switch t := stored.(type) {
	case nil:
		*s.to = time.Time{}
	case time.Time:
		*s.to = t.UTC()
	case int64:
		*s.to = time.UnixMicro(t).UTC()
	default:
		return fmt.Errorf("%T is not a time", stored)
	}
	return nil
}
