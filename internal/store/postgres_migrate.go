package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
)

const (
	// postgresVersion is the number of the newest migration.
	postgresVersion = 3
	// postgresVersions is the table of the migrations that were made.
	postgresVersions = "exp.rehearse_migrations"
	// migrationLock is the number of the lock that a process holds while it migrates.
	migrationLock = 0x7265686561727365
	// migrationPoll is the time between two looks whether another process has ended its migration.
	migrationPoll = 50 * time.Millisecond
)

// migrate brings the schema to postgresVersion. A schema that is there already costs two questions.
func (p *Postgres) migrate(ctx context.Context) error {
	for {
		version, err := p.version(ctx)
		switch {
		case err != nil:
			return p.explain(ctx, "open", err)
		case version == postgresVersion:
			return nil
		case version > postgresVersion:
			return &PostgresError{
				Op: "open", Server: p.place.url,
				Problem: fmt.Sprintf("its schema exp was written by a newer rehearse (schema %d, this program knows %d)", version, postgresVersion),
				Hint:    "use the newer program or name another database",
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

// tryMigrate migrates, unless another process does, for which it waits a moment.
//
// The lock is that of a transaction, as a pooler may give every transaction another connection. Nobody waits for the lock within a
// statement, as an index that is being built concurrently waits for statements that run; and the statement is a simple query, as others
// go on until the next one.
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
	err = tx.QueryRow(ctx, `SELECT pg_try_advisory_xact_lock($1) AND set_config('idle_in_transaction_session_timeout', '0', true) = '0'`,
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
	files, err := fs.Sub(migrations, "migrations/postgres")
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, db, files,
		goose.WithDisableGlobalRegistry(true), goose.WithTableName(postgresVersions))
	if err != nil {
		return err
	}
	_, err = provider.Up(ctx)
	return err
}

// checkEvents looks whether a table exp.events that an application has made is one of events.
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
		return &PostgresError{
			Op: "prepare", Server: p.place.url, Problem: "exp.events is there, but is no ordinary table",
			Hint: "rename it, or name another database",
		}
	case len(wrong) > 0:
		return &PostgresError{
			Op: "prepare", Server: p.place.url, Problem: "the table exp.events is there, but not with the columns " + strings.Join(wrong, ", "),
			Hint: "add or alter them, or rename the table",
		}
	}
	return nil
}
