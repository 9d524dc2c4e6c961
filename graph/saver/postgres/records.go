package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"rehearse/graph"
)

// The statements on records.
const (
	chainQuery = `
		WITH RECURSIVE chain AS (
			SELECT number, id, parent, turn, source, at, appended, state FROM graph_records WHERE thread = $1 AND id = $2
			UNION ALL
			SELECT r.number, r.id, r.parent, r.turn, r.source, r.at, r.appended, NULL
			FROM chain JOIN graph_records AS r ON r.thread = $1 AND r.id = chain.parent AND r.number < chain.number
		)
		SELECT id, parent, turn, source, at, appended, state FROM chain ORDER BY number`
	listQuery   = `SELECT id, parent, turn, source, at, NULL::bytea, NULL::bytea FROM graph_records WHERE thread = $1 ORDER BY number`
	insertQuery = `
		INSERT INTO graph_records (thread, id, parent, turn, source, at, appended, state) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`
)

// Load returns the records that lead to the one called id, or to the newest for "", oldest first; Values only of the last.
// It returns nothing for an unknown thread, and a wrapped graph.ErrNoCheckpoint for an unknown id.
func (s *Saver) Load(ctx context.Context, thread, id string) ([]graph.Record, error) {
	records, err := s.load(ctx, thread, id)
	if err == nil && id != "" && len(records) == 0 {
		return nil, fmt.Errorf("session %q, checkpoint %q in %s: %w", thread, id, s.name, graph.ErrNoCheckpoint)
	}
	return records, s.failed(ctx, fmt.Sprintf("read session %q from", thread), err)
}

func (s *Saver) load(ctx context.Context, thread, id string) ([]graph.Record, error) {
	if id == "" {
		err := s.pool.QueryRow(ctx, `SELECT newest FROM graph_threads WHERE name = $1`, []byte(thread)).Scan(&id)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil, nil
		} else if err != nil {
			return nil, err
		}
	}
	return s.records(ctx, chainQuery, []byte(thread), id)
}

// List returns every record of the thread without Values and Appended, oldest first; none for an unknown thread.
func (s *Saver) List(ctx context.Context, thread string) ([]graph.Record, error) {
	records, err := s.records(ctx, listQuery, []byte(thread))
	return records, s.failed(ctx, fmt.Sprintf("list session %q of", thread), err)
}

func (s *Saver) records(ctx context.Context, query string, args ...any) ([]graph.Record, error) {
	rows, err := s.pool.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (r graph.Record, err error) {
		var at int64
		var appended, values []byte
		err = row.Scan(&r.ID, &r.Parent, &r.Turn, &r.Source, &at, &appended, &values)
		r.At, r.Appended, r.Values = time.UnixMicro(at).UTC(), json.RawMessage(appended), json.RawMessage(values)
		return r, err
	})
}

// refusals are outcomes of a Save or a Compact that are nobody's failure.
var refusals = []error{graph.ErrConflict, graph.ErrNoCheckpoint}

// Save adds a record, which becomes the newest of its thread, and drops the steps of its turn, in one transaction.
// A record whose Parent is not the newest fails with a wrapped graph.ErrConflict, unless its Source is graph.SourceFork;
// a fork from what is not there fails with a wrapped graph.ErrNoCheckpoint.
func (s *Saver) Save(ctx context.Context, thread string, r graph.Record) error {
	return s.write(ctx, fmt.Sprintf("save session %q in", thread), thread, func(tx pgx.Tx, newest string) error {
		if r.Parent != newest {
			if r.Source != graph.SourceFork {
				return graph.ErrConflict
			}
			if known, err := s.has(ctx, tx, thread, r.Parent); err != nil || !known {
				return errors.Join(err, graph.ErrNoCheckpoint)
			}
		}
		if known, err := s.has(ctx, tx, thread, r.ID); err != nil || known && r.ID != "" {
			return errors.Join(err, graph.ErrConflict)
		}
		if err := s.insert(ctx, tx, thread, r); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `DELETE FROM graph_steps WHERE thread = $1 AND turn <= $2`, []byte(thread), r.Turn)
		return err
	})
}

// has reports whether a thread has a record; "" is there always, as the record before the first.
func (s *Saver) has(ctx context.Context, tx pgx.Tx, thread, id string) (known bool, err error) {
	if id == "" {
		return true, nil
	}
	err = tx.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM graph_records WHERE thread = $1 AND id = $2)`, []byte(thread), id).Scan(&known)
	return known, err
}

// insert adds a record and makes it the newest.
func (s *Saver) insert(ctx context.Context, tx pgx.Tx, thread string, r graph.Record) error {
	_, err := tx.Exec(ctx, insertQuery,
		[]byte(thread), r.ID, r.Parent, r.Turn, r.Source, r.At.UnixMicro(), []byte(r.Appended), []byte(r.Values))
	if err == nil {
		_, err = tx.Exec(ctx, `UPDATE graph_threads SET newest = $2 WHERE name = $1`, []byte(thread), r.ID)
	}
	return err
}

// write changes a thread in a transaction, one at a time; newest is the id of its newest record.
func (s *Saver) write(ctx context.Context, op, thread string, change func(tx pgx.Tx, newest string) error) error {
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		var newest string
		// The row is there from now on, and locked until the end of the transaction.
		err := tx.QueryRow(ctx, `
			INSERT INTO graph_threads (name, newest) VALUES ($1, '') ON CONFLICT (name) DO UPDATE SET newest = graph_threads.newest
			RETURNING newest`, []byte(thread)).Scan(&newest)
		if err != nil {
			return err
		}
		return change(tx, newest)
	})
	if slices.ContainsFunc(refusals, func(refusal error) bool { return errors.Is(err, refusal) }) && ctx.Err() == nil {
		return fmt.Errorf("%s %s: %w", op, s.name, err)
	}
	return s.failed(ctx, op, err)
}

// Delete forgets the thread; one that is unknown is no error.
func (s *Saver) Delete(ctx context.Context, thread string) error {
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		for _, table := range []string{"graph_threads WHERE name", "graph_records WHERE thread", "graph_steps WHERE thread"} {
			if _, err := tx.Exec(ctx, `DELETE FROM `+table+` = $1`, []byte(thread)); err != nil {
				return err
			}
		}
		return nil
	})
	return s.failed(ctx, fmt.Sprintf("delete session %q from", thread), err)
}

// Compact makes a record, whose ID is that of the newest, the only one of its thread; with any other ID it fails with a wrapped graph.ErrConflict.
func (s *Saver) Compact(ctx context.Context, thread string, r graph.Record) error {
	return s.write(ctx, fmt.Sprintf("compact session %q in", thread), thread, func(tx pgx.Tx, newest string) error {
		if newest != r.ID || newest == "" {
			return graph.ErrConflict
		}
		if _, err := tx.Exec(ctx, `DELETE FROM graph_records WHERE thread = $1`, []byte(thread)); err != nil {
			return err
		}
		return s.insert(ctx, tx, thread, r)
	})
}
