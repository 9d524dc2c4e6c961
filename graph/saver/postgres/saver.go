// Package postgres keeps the threads of graphs in a PostgreSQL database that several processes share.
package postgres

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"rehearse/graph"
)

// connectTimeout bounds connecting, where the URL does not.
const connectTimeout = 10 * time.Second

// schema creates the tables that are missing. Names of threads are bytes, as text of PostgreSQL cannot have every byte.
//
//go:embed schema.sql
var schema string

// schemaLock is held while tables are created: two processes that create the same table at once would fail.
const schemaLock = 0x67726170

// Saver keeps the records of threads, one row each, and the steps of unfinished turns, in tables that begin with graph_. It is safe for
// concurrent use. Make it with Open.
type Saver struct {
	pool  *pgxpool.Pool
	name  string // of the database, without user and password
	close func()
}

var (
	_ graph.Checkpointer = (*Saver)(nil)
	_ graph.StepSaver    = (*Saver)(nil)
	_ graph.Compactor    = (*Saver)(nil)
)

// Open connects to the database of a URL such as postgres://user:password@host:5432/database, and creates what is missing. No error has the
// password.
func Open(ctx context.Context, address string) (*Saver, error) {
	unreadable := errors.New("connect to PostgreSQL: its URL cannot be read: write postgres://user:password@host:5432/database")
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" { // the error's text may have the password
		return nil, unreadable
	}
	config, err := pgxpool.ParseConfig(address)
	if err != nil {
		return nil, unreadable
	}
	config.ConnConfig.ConnectTimeout = cmp.Or(config.ConnConfig.ConnectTimeout, connectTimeout)
	if !u.Query().Has("default_query_exec_mode") {
		// No statements are prepared by name: behind a pooler such as PgBouncer, not every connection knows them.
		config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
	s := &Saver{name: "postgres://" + u.Host + u.Path}
	if s.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, s.failed(ctx, "connect to", err)
	}
	s.close = sync.OnceFunc(s.pool.Close)
	if err := s.create(ctx); err != nil {
		s.close()
		return nil, s.failed(ctx, "prepare", hidden(err, config.ConnConfig.Password))
	}
	return s, nil
}

// Close ends the connections. It waits for calls that have not ended.
func (s *Saver) Close() error {
	s.close()
	return nil
}

// create makes the tables. One that may not create them can work with those that are there.
func (s *Saver) create(ctx context.Context) error {
	var there bool
	err := s.pool.QueryRow(ctx, `SELECT count(*) = 3 FROM pg_tables
		WHERE schemaname = current_schema() AND tablename IN ('graph_threads', 'graph_records', 'graph_steps')`).Scan(&there)
	if err != nil || there {
		return err
	}
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, int64(schemaLock)); err != nil {
			return err
		}
		for statement := range strings.SplitSeq(schema, ";\n") {
			if strings.TrimSpace(statement) == "" {
				continue
			}
			if _, err := tx.Exec(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	})
}

// hidden returns an error without the password.
func hidden(err error, password string) error {
	if password != "" && strings.Contains(err.Error(), password) {
		return errors.New("the server has refused the connection")
	}
	return err
}

// failed says what could not be done; nil stays nil.
func (s *Saver) failed(ctx context.Context, op string, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("%s %s: %w", op, s.name, ctx.Err())
	}
	return fmt.Errorf("%s %s: %w", op, s.name, err)
}
