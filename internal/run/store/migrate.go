package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	versions "github.com/pressly/goose/v3/database"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/rehearse-dev/rehearse/internal/agent/knowledge"
)

//go:embed migrations
var migrations embed.FS

// newest returns the number of the newest migration of a kind of database, "sqlite" or "postgres". It is the number of
// the schema that this program knows.
func newest(kind string) int {
	files, err := migrations.ReadDir("migrations/" + kind)
	if err != nil || len(files) == 0 {
		panic("no migrations for " + kind) // they are in the program
	}
	number, err := goose.NumericComponent(files[len(files)-1].Name())
	if err != nil {
		panic(err)
	}
	return int(number)
}

// provider makes the migrations of a kind of database.
func provider(kind string, dialect goose.Dialect, db *sql.DB,
	options ...goose.ProviderOption) (*goose.Provider, error) {
	files, err := fs.Sub(migrations, "migrations/"+kind)
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(dialect, db, files, append(options, goose.WithDisableGlobalRegistry(true))...)
}

// migrate brings the file to the newest schema. A file with that schema costs one read. Asking goose would take ten
// times as long as opening the file.
func migrate(ctx context.Context, db *sql.DB, path string) error {
	const tries = 5
	known := newest("sqlite")
	// Processes that open one new file make it a file with a log at the same time: SQLite refuses all but one at once,
	// without waiting.
	patience := time.Now().Add(busyTimeout)
	for try := 1; ; {
		version, err := userVersion(ctx, db)
		switch {
		case err != nil && busy(err) && time.Now().Before(patience):
			if err := pauseAfterBusy(ctx); err != nil {
				return explain("open", path, err)
			}
			continue
		case err != nil:
			return explain("open", path, err)
		case version == known:
			return nil
		case version > known:
			return &Error{
				Op: "open", Store: fileName(path),
				Problem: fmt.Sprintf("it was written by a newer rehearse (schema %d, this program knows %d)",
					version, known),
				Hint: "use the newer program or name another store",
			}
		}
		// Another process may migrate the same new file at the same time; the one that fails looks again.
		switch err := up(ctx, db, known); {
		case err != nil && busy(err) && time.Now().Before(patience):
			if err := pauseAfterBusy(ctx); err != nil {
				return explain("prepare", path, err)
			}
		case err != nil && try == tries:
			return explain("prepare", path, err)
		default:
			try++
		}
	}
}

// busy reports whether another process has the file just now.
func busy(err error) bool {
	fault, ok := errors.AsType[*sqlite.Error](err)
	return ok && (fault.Code()&0xff == sqlite3.SQLITE_BUSY || fault.Code()&0xff == sqlite3.SQLITE_LOCKED)
}

// pauseAfterBusy waits before another try at a file that another process has.
func pauseAfterBusy(ctx context.Context) error {
	select {
	case <-time.After(20 * time.Millisecond):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// userVersion is the number of the file's schema.
func userVersion(ctx context.Context, db interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
},
) (version int, err error) {
	err = db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version)
	return version, err
}

// up migrates the file and writes the number of its schema.
func up(ctx context.Context, db *sql.DB, known int) error {
	if made, err := create(ctx, db, known); made || err != nil {
		return err
	}
	migrations, err := sqliteMigrations(db)
	if err != nil {
		return err
	}
	if _, err := migrations.Up(ctx); err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	// A newer program may have migrated further meanwhile.
	version, err := userVersion(ctx, tx)
	if err == nil && version < known {
		_, err = tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", known))
	}
	if err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// sqliteMigrations are the migrations of the folder, and those of the tables of knowledge, whose numbers the folder
// leaves out.
func sqliteMigrations(db *sql.DB) (*goose.Provider, error) {
	var coded []*goose.Migration
	for version, run := range codedMigrations {
		coded = append(coded, goose.NewGoMigration(version, &goose.GoFunc{RunTx: run}, nil))
	}
	return provider("sqlite", goose.DialectSQLite3, db, goose.WithGoMigrations(coded...))
}

// codedMigrations are the migrations of SQLite files that are functions.
var codedMigrations = map[int64]func(context.Context, *sql.Tx) error{
	2: knowledge.CreatePassages,
	4: knowledge.CreateVectors,
}

// create carries out every migration in a file that has no table yet, in one transaction, and reports whether it did.
// The file is the one that goose would have made, with a transaction for each of them and three times the work: most
// runs of a program in CI begin with a new file.
func create(ctx context.Context, db *sql.DB, known int) (made bool, err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	defer func() {
		if !made {
			err = errors.Join(err, tx.Rollback())
		}
	}()
	tables := 0
	err = tx.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables)
	if err != nil || tables > 0 {
		return false, err
	}
	table, err := versions.NewStore(versions.DialectSQLite3, goose.DefaultTablename)
	if err == nil {
		err = table.CreateVersionTable(ctx, tx)
	}
	files, readErr := migrations.ReadDir("migrations/sqlite")
	err = errors.Join(err, readErr)
	for version := int64(0); version <= int64(known) && err == nil; version++ {
		if run, coded := codedMigrations[version]; coded {
			err = run(ctx, tx)
		} else if version > 0 {
			var statements []byte
			statements, err = migrations.ReadFile("migrations/sqlite/" + files[0].Name())
			if files = files[1:]; err == nil {
				_, err = tx.ExecContext(ctx, string(statements)) // what goose reads is a comment
			}
		}
		if err == nil {
			err = table.Insert(ctx, tx, versions.InsertRequest{Version: version})
		}
	}
	if err == nil {
		_, err = tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", known))
	}
	if err != nil {
		return false, err
	}
	return true, tx.Commit()
}

const (
	// postgresVersions is the table of the migrations that were carried out.
	postgresVersions = "exp.rehearse_migrations"
	// migrationLock is the number of the lock that a process holds while it migrates.
	migrationLock = 0x7265686561727365
	// migrationPoll is the time between two looks whether another process has ended its migration.
	migrationPoll = 50 * time.Millisecond
)

// migrate brings the schema exp to the newest version. One that has it costs two queries.
func (p *Postgres) migrate(ctx context.Context) error {
	known := newest("postgres")
	for {
		version, err := p.version(ctx)
		switch {
		case err != nil:
			return p.explain(ctx, "open", err)
		case version == known:
			return nil
		case version > known:
			return &Error{
				Op: "open", Store: p.server.String(),
				Problem: fmt.Sprintf(
					"its schema exp was written by a newer rehearse (schema %d, this program knows %d)",
					version, known),
				Hint: "use the newer program or name another database",
			}
		}
		if err := p.tryMigrate(ctx); err != nil {
			return p.explain(ctx, "prepare", err)
		}
	}
}

// version returns the number of the last migration, 0 if there was none.
func (p *Postgres) version(ctx context.Context) (version int, err error) {
	var there bool
	err = p.pool.QueryRow(ctx, `SELECT to_regclass($1) IS NOT NULL`, postgresVersions).Scan(&there)
	if err != nil || !there {
		return 0, err
	}
	err = p.pool.QueryRow(ctx, `SELECT coalesce(max(version_id), 0) FROM `+postgresVersions).Scan(&version)
	return version, err
}

// tryMigrate migrates. If another process is migrating, it waits a moment instead.
//
// The lock is a transaction's, since a pooler may give every transaction another connection. Nobody waits for the lock
// within a statement, because building an index concurrently waits for running statements. The statement is a simple
// query, since others stay open until the next one.
func (p *Postgres) tryMigrate(ctx context.Context) (err error) {
	conn, err := pgx.ConnectConfig(ctx, p.pool.Config().ConnConfig)
	if err != nil {
		return err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(closing) // which gives up the lock
	}()
	tx, err := conn.Begin(ctx)
	if err != nil {
		return err
	}
	var locked bool
	err = tx.QueryRow(ctx,
		`SELECT pg_try_advisory_xact_lock($1) AND set_config('idle_in_transaction_session_timeout', '0', true) = '0'`,
		pgx.QueryExecModeSimpleProtocol, int64(migrationLock)).Scan(&locked)
	if err != nil {
		return err
	}
	if !locked {
		select {
		case <-time.After(migrationPoll):
		case <-ctx.Done():
		}
		return ctx.Err()
	}
	return p.up(ctx)
}

// up migrates. The caller holds the lock.
func (p *Postgres) up(ctx context.Context) (err error) {
	// Not a migration, as goose keeps its table in the schema.
	// Not IF NOT EXISTS, which would ask for the right to create schemas although it is there.
	_, err = p.pool.Exec(ctx, `DO $$ BEGIN IF to_regnamespace('exp') IS NULL THEN CREATE SCHEMA exp; END IF; END $$`)
	if err == nil {
		err = p.checkEvents(ctx)
	}
	if err != nil {
		return err
	}
	db := stdlib.OpenDB(*p.pool.Config().ConnConfig)
	defer func() { err = errors.Join(err, db.Close()) }()
	migrations, err := provider("postgres", goose.DialectPostgres, db, goose.WithTableName(postgresVersions))
	if err != nil {
		return err
	}
	_, err = migrations.Up(ctx)
	return err
}

// checkEvents checks that a table exp.events that an application has made has the columns of events.
func (p *Postgres) checkEvents(ctx context.Context) error {
	var kind string
	var wrong []string
	err := p.pool.QueryRow(ctx, `
		SELECT c.relkind::text, array(
			SELECT format('%s %s', name, types[1])
			FROM (VALUES
				('event_id', '{text,"character varying"}'::text[]),
				('event_type', '{text,"character varying"}'),
				('unit_type', '{text,"character varying"}'),
				('unit_id', '{text,"character varying"}'),
				('experiments', '{jsonb,json}'),
				('context', '{jsonb,json}'),
				('metrics', '{jsonb,json}'),
				('payload', '{jsonb,json}'),
				('timestamp', '{"timestamp with time zone"}')
			) AS columns (name, types)
			WHERE NOT EXISTS (
				SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = name AND NOT a.attisdropped
					AND format_type(a.atttypid, NULL) = ANY (types)
			)
		)
		FROM pg_class c WHERE c.oid = to_regclass('exp.events')`).Scan(&kind, &wrong)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil
	case err != nil:
		return err
	case kind != "r":
		return &Error{
			Op: "prepare", Store: p.server.String(), Problem: "exp.events is there, but is no ordinary table",
			Hint: "rename it, or name another database",
		}
	case len(wrong) > 0:
		return &Error{
			Op: "prepare", Store: p.server.String(),
			Problem: "the table exp.events is there, but not with the columns " + strings.Join(wrong, ", "),
			Hint:    "add or alter them, or rename the table",
		}
	}
	return nil
}
