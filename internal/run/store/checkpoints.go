package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/rehearse-dev/rehearse/graph"
	"github.com/rehearse-dev/rehearse/graph/saver/sqlite"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/lead"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/sessionindex"
)

// Checkpoints stores the records of sessions in a store's file, and the leads of its visitors next to them.
// Store.Checkpoints returns it.
type Checkpoints struct {
	*sqlite.Saver
	*leases
	sessionTables
	sqlite sqliteDatabase
}

// Checkpoints returns the sessions that the store has. A session that was not written for the ttl counts as deleted; it
// is removed from the file when other sessions begin. A ttl of 0 retains all. They end with the store; closing them is
// not needed.
func (s *Store) Checkpoints(ttl time.Duration) *Checkpoints {
	file := sqlite.File{
		DB: s.db, Path: s.path, Write: s.write,
		Explain: func(op string, err error) error { return explain(op, s.path, err) },
	}
	database := sqliteDatabase{store: s}
	database.prepare(addRow, dropExpiredRow, enterRow, putNote) // what every turn writes
	tables := sessionTables{db: database, threads: "checkpoint_threads", ttl: ttl, filing: true}
	locks := NewLocks() // processes on one file find out about each other when they save
	locks.extend = tables.Extend
	return &Checkpoints{sqlite.On(file, ttl), locks, tables, database}
}

// SaveWith is Save, and adds rows to the outbox in the same transaction.
func (c *Checkpoints) SaveWith(ctx context.Context, thread string, r graph.Record, rows []lead.Row) error {
	return c.Saver.SaveWith(ctx, thread, r, func(ctx context.Context, tx *sql.Tx) error {
		return c.sqlite.tx(tx).batch(ctx, c.addedRows(rows)...)
	})
}

// SaveTurn saves a record with its leads and its entry: see sessionindex.Index.
func (c *Checkpoints) SaveTurn(ctx context.Context, thread string, r graph.Record, rows []lead.Row,
	e sessionindex.Entry) error {
	return c.Saver.SaveWith(ctx, thread, r, func(ctx context.Context, tx *sql.Tx) error {
		return c.enter(ctx, c.sqlite.tx(tx), thread, r, rows, e)
	})
}

// Erase deletes a thread, the leads of its session and its row in the session index, and waits until none of it is left
// in the files: what is deleted is overwritten (secure_delete), and the write-ahead log is truncated.
func (c *Checkpoints) Erase(ctx context.Context, thread, site, session string) error {
	err := c.sqlite.store.write(ctx, func(tx *sql.Tx) error {
		if err := c.DeleteIn(ctx, tx, thread); err != nil {
			return err
		}
		return c.erase(ctx, c.sqlite.tx(tx), thread, site, session)
	})
	if err == nil {
		err = c.db.truncateLog(ctx)
	}
	return c.db.explain(ctx, fmt.Sprintf("erase session %q from", thread), err)
}
