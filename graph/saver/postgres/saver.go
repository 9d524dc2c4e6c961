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

	"github.com/rehearse-dev/rehearse/graph"
)

// connectTimeout bounds connecting, where the URL does not.
const connectTimeout = 10 * time.Second

// schema creates the tables that are missing. Names of threads are bytes, as text of PostgreSQL cannot have every byte.
//
//go:embed schema.sql
var schema string

// schemaLock is held while tables are created: two processes that create the same table at once would fail.
const schemaLock = 0x67726170

// Saver keeps the records of threads, one row each, and the steps of unfinished turns. Open creates the tables that are
// missing; On expects them. A Saver is safe for concurrent use.
type Saver struct {
	database Database
	queries  queries
	ttl      time.Duration
	now      func() time.Time
	close    func()
}

// Database is a database that somebody else has opened, with the tables of schema.sql in it. All fields are needed.
type Database struct {
	Pool *pgxpool.Pool
	Name string // for errors, without user and password
	// Prefix begins the names of the tables: graph_ of those that Open makes.
	Prefix string
	// Explain makes an error of an operation, such as "read session "a" from", that has failed; nil stays nil.
	Explain func(ctx context.Context, op string, err error) error
}

// On returns a saver on a database. A thread that was not written for the ttl counts as deleted; it is removed when
// other threads begin. A ttl of 0 keeps all. Closing the saver does nothing.
func On(d Database, ttl time.Duration) *Saver {
	return &Saver{database: d, queries: queriesOn(d.Prefix), ttl: ttl, now: time.Now, close: func() {}}
}

var (
	_ graph.Checkpointer = (*Saver)(nil)
	_ graph.StepSaver    = (*Saver)(nil)
	_ graph.Peeker       = (*Saver)(nil)
	_ graph.Compactor    = (*Saver)(nil)
)

// Open connects to the database of a URL such as postgres://user:password@host:5432/database, and creates what is
// missing. No error has the password.
func Open(ctx context.Context, address string) (*Saver, error) {
	unreadable := errors.New(
		"connect to PostgreSQL: its URL cannot be read: write postgres://user:password@host:5432/database")
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
	own := Database{Name: "postgres://" + u.Host + u.Path, Prefix: "graph_"}
	own.Explain = own.explain
	if own.Pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, own.explain(ctx, "connect to", err)
	}
	s := On(own, 0)
	s.close = sync.OnceFunc(own.Pool.Close)
	if err := s.create(ctx); err != nil {
		s.close()
		return nil, own.explain(ctx, "prepare", hidden(err, config.ConnConfig.Password))
	}
	return s, nil
}

// Close ends the connections that Open has made. It waits for calls that have not ended.
func (s *Saver) Close() error {
	s.close()
	return nil
}

// create makes the tables. One that may not create them can work with those that are there.
func (s *Saver) create(ctx context.Context) error {
	var there bool
	// Earlier versions had the tables without these columns.
	err := s.database.Pool.QueryRow(ctx, `SELECT count(*) = 3 FROM information_schema.columns
		WHERE table_schema = current_schema() AND (table_name, column_name) IN
			(('graph_threads', 'used'), ('graph_steps', 'used'), ('graph_claims', 'owner'))`).Scan(&there)
	if err != nil || there {
		return err
	}
	return pgx.BeginFunc(ctx, s.database.Pool, func(tx pgx.Tx) error {
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

// explain is the Explain of a database that Open has opened.
func (d Database) explain(ctx context.Context, op string, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("%s %s: %w", op, d.Name, ctx.Err())
	}
	return fmt.Errorf("%s %s: %w", op, d.Name, err)
}

// failed says what could not be done; nil stays nil.
func (s *Saver) failed(ctx context.Context, op string, err error) error {
	return s.database.Explain(ctx, op, err)
}
