package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/rehearse-dev/rehearse/graph"
	saver "github.com/rehearse-dev/rehearse/graph/saver/postgres"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/lead"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/sessionindex"
)

// PostgresSessions keeps the sessions of chatbots in a database that several processes share: the records of threads,
// their locks, leads, and what visitors have asked for. Postgres.Sessions returns it. It is safe for concurrent use.
type PostgresSessions struct {
	*postgresThreads
	*leases
	sessionTables
	server *Postgres
}

// postgresThreads keeps the threads. Its name is not that of the embedded type, which others would see as a field.
type postgresThreads = saver.Saver

// Sessions returns the sessions that the database keeps. A session that was not written for the ttl counts as deleted;
// it is removed when other sessions begin. A ttl of 0 keeps all. Close it before the database.
func (p *Postgres) Sessions(ttl time.Duration) *PostgresSessions {
	database := saver.Database{Pool: p.pool, Name: p.server.String(), Prefix: "exp.session_", Explain: p.explain}
	db := postgresDatabase{db: p}
	tables := sessionTables{db: db, threads: "exp.session_threads", ttl: ttl}
	return &PostgresSessions{saver.On(database, ttl), newLocks(databaseLocks{db}, tables.Extend), tables, p}
}

// Close ends the locks that are still being released. The data stays.
func (s *PostgresSessions) Close() error {
	s.leases.end()
	return nil
}

// String names the database, without user and password.
func (s *PostgresSessions) String() string { return s.server.server.url }

// SaveWith is Save, and adds rows to the outbox in the same transaction.
func (s *PostgresSessions) SaveWith(ctx context.Context, thread string, r graph.Record, rows []lead.Row) error {
	if len(rows) == 0 {
		return s.Save(ctx, thread, r)
	}
	return s.postgresThreads.SaveWith(ctx, thread, r, func(ctx context.Context, tx pgx.Tx) error {
		return postgresTx{tx}.batch(ctx, s.addedRows(rows)...)
	})
}

// SaveTurn saves a record with its leads and its entry: see sessionindex.Index.
func (s *PostgresSessions) SaveTurn(ctx context.Context, thread string, r graph.Record, rows []lead.Row,
	e sessionindex.Entry) error {
	return s.postgresThreads.SaveWith(ctx, thread, r, func(ctx context.Context, tx pgx.Tx) error {
		return s.enter(ctx, postgresTx{tx}, thread, r, rows, e)
	})
}

// Erase deletes a thread with its row in the session index, and the leads of its session.
func (s *PostgresSessions) Erase(ctx context.Context, thread, site, session string) error {
	err := pgx.BeginFunc(ctx, s.server.pool, func(tx pgx.Tx) error {
		if err := s.DeleteIn(ctx, tx, thread); err != nil {
			return err
		}
		return s.erase(ctx, postgresTx{tx}, thread, site, session)
	})
	return s.db.explain(ctx, fmt.Sprintf("erase session %q from", thread), err)
}
