package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/rehearse-dev/rehearse/graph"
	"github.com/rehearse-dev/rehearse/graph/saver/sqlite"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/lead"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot/sessionindex"
)

// Checkpoints keeps the records of sessions in a store's file, and the leads of its visitors beside them.
// Store.Checkpoints returns it.
type Checkpoints struct {
	*sqlite.Saver
	sessionTables
	store  *Store
	sqlite sqliteDatabase

	// What every turn writes, and the courier asks all the time, is prepared; addRow has a statement for each number of
	// rows.
	lastRow *sqlite.Statement
	addRow  [mostRows + 1]*sqlite.Statement
}

// Checkpoints returns the sessions that the store keeps. A session that was not written for the ttl counts as deleted;
// it is removed from the file when other sessions begin. A ttl of 0 keeps all. They end with the store; closing them is
// not needed.
func (s *Store) Checkpoints(ttl time.Duration) *Checkpoints {
	file := sqlite.File{
		DB: s.db, Path: s.path, Write: s.write,
		Explain: func(op string, err error) error { return explain(op, s.path, err) },
	}
	database := sqliteDatabase{store: s}
	database.prepare(dropExpiredRow, enterRow, putNote)
	return &Checkpoints{
		Saver: sqlite.On(file, ttl), sessionTables: sessionTables{database, "checkpoint_threads", ttl}, store: s,
		sqlite: database, lastRow: sqlite.NewStatement(s.db, lastQuery), addRow: rowAdders(s.db),
	}
}

// SaveWith is Save, and adds rows to the outbox in the same transaction.
func (c *Checkpoints) SaveWith(ctx context.Context, thread string, r graph.Record, rows []lead.Row) error {
	if len(rows) == 0 {
		return c.Save(ctx, thread, r)
	}
	return c.Saver.SaveWith(ctx, thread, r, func(ctx context.Context, tx *sql.Tx) error {
		return c.addRows(ctx, tx, rows)
	})
}

// SaveTurn saves a record with its leads and its entry: see sessionindex.Index.
func (c *Checkpoints) SaveTurn(ctx context.Context, thread string, r graph.Record, rows []lead.Row,
	e sessionindex.Entry) error {
	return c.Saver.SaveWith(ctx, thread, r, func(ctx context.Context, tx *sql.Tx) error {
		if err := c.addRows(ctx, tx, rows); err != nil {
			return err
		}
		return c.enter(ctx, c.sqlite.tx(tx), thread, r, e)
	})
}

// AddLeads adds rows to the outbox by themselves: see SessionIndex.
func (c *Checkpoints) AddLeads(ctx context.Context, rows []lead.Row) error {
	return explain("add leads to", c.store.path, c.store.write(ctx, func(tx *sql.Tx) error {
		return c.addRows(ctx, tx, rows)
	}))
}

// Erase forgets a thread, the leads of its session and its row in the session index, and waits until none of it is left
// in the files: what is deleted is overwritten (secure_delete), and the write-ahead log is truncated.
func (c *Checkpoints) Erase(ctx context.Context, thread, site, session string) error {
	err := c.store.write(ctx, func(tx *sql.Tx) error {
		if err := fileRows(ctx, tx); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, eraseRowsQuery, session, site)
		_, failed := tx.ExecContext(ctx, forSQLite.Replace(eraseRow), thread) // of a session without a state, too
		return errors.Join(err, failed, c.DeleteIn(ctx, tx, thread))
	})
	if err == nil {
		err = c.store.truncateLog(ctx)
	}
	return explain(fmt.Sprintf("erase session %q from", thread), c.store.path, err)
}
