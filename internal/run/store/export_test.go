package store

import (
	"context"
	"errors"

	"github.com/rehearse-dev/rehearse/internal/replay"
)

// Newest is the number of the schema of a kind of database.
func Newest(kind string) int { return newest(kind) }

// MigrateTo makes a file with the schema of an earlier program.
func MigrateTo(ctx context.Context, path string, version int) (err error) {
	db, err := connect(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	migrations, err := sqliteMigrations(db)
	if err == nil {
		_, err = migrations.UpTo(ctx, int64(version))
	}
	return err
}

// OutboxQueries are the queries on rows in SQLite that must not read all of them.
var OutboxQueries = map[string]string{
	"due": forSQLite.Replace(dueAddresses), "claim": forSQLite.Replace(claimRows),
	"finish": forSQLite.Replace(finishRow), "revive": forSQLite.Replace(reviveRows),
	"unclaimed": forSQLite.Replace(failUnclaimed), "erase": forSQLite.Replace(eraseRows),
}

// MigrationLock is the lock that a process holds while it migrates.
const MigrationLock = migrationLock

// PlainJSON is what is kept of JSON.
func PlainJSON(raw []byte) (text string, ok bool) { return plainJSON(raw) }

// PageOf is the query of a page in the middle of the events that a filter chooses.
func (e *Events) PageOf(f replay.Filter) (query string, args []any) {
	query, args = newEventQuery(f).page(&e.columns, e.db, eventPlace{session: "s"}, rowsPerPage)
	if _, ok := e.db.(sqliteDatabase); ok {
		query = forSQLite.Replace(query)
	}
	return query, args
}

// OutcomePage is the query of a page of sessions in PostgreSQL.
func OutcomePage(run, after string) (query string, args []any) {
	return outcomePage, []any{run, after, rowsPerPage}
}

// AfterReading returns a fleet on the same data that calls after behind each of its queries.
func (f *Fleet) AfterReading(after func()) *Fleet { return &Fleet{db: hookedDB{f.db, after}} }

type hookedDB struct {
	database
	after func()
}

func (d hookedDB) page(ctx context.Context, query string, args []any, scan func(scanner) error) error {
	defer d.after()
	return d.database.page(ctx, query, args, scan)
}
