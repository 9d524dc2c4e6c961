package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/rehearse-dev/rehearse/graph"
)

// Load returns the records that lead to the one called id, or to the newest for "", oldest first; Values only of the
// last. It returns nothing for an unknown thread, and a wrapped graph.ErrNoCheckpoint for an unknown id.
func (s *Saver) Load(ctx context.Context, thread, id string) ([]graph.Record, error) {
	records, err := s.load(ctx, thread, id)
	if err == nil && id != "" && len(records) == 0 {
		return nil, fmt.Errorf("session %q, checkpoint %q in %s: %w", thread, id, s.database.Name,
			graph.ErrNoCheckpoint)
	}
	return records, s.failed(ctx, fmt.Sprintf("read session %q from", thread), err)
}

func (s *Saver) load(ctx context.Context, thread, id string) ([]graph.Record, error) {
	if id == "" {
		var err error
		if id, err = s.newest(ctx, thread); err != nil || id == "" {
			return nil, err
		}
	}
	return s.records(ctx, s.queries.chain, []byte(thread), id, s.idleBefore())
}

// Newest returns the id of the newest record; "" for an unknown thread.
func (s *Saver) Newest(ctx context.Context, thread string) (string, error) {
	id, err := s.newest(ctx, thread)
	return id, s.failed(ctx, fmt.Sprintf("read session %q from", thread), err)
}

func (s *Saver) newest(ctx context.Context, thread string) (id string, err error) {
	err = s.database.Pool.QueryRow(ctx, s.queries.newest, []byte(thread), s.idleBefore()).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	return id, err
}

// List returns every record of the thread without Values and Appended, oldest first; none for an unknown thread.
func (s *Saver) List(ctx context.Context, thread string) ([]graph.Record, error) {
	records, err := s.records(ctx, s.queries.list, []byte(thread), s.idleBefore())
	return records, s.failed(ctx, fmt.Sprintf("list session %q of", thread), err)
}

func (s *Saver) records(ctx context.Context, query string, args ...any) ([]graph.Record, error) {
	rows, err := s.database.Pool.Query(ctx, query, args...)
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

// Save adds a record, which becomes the newest of its thread, and drops the steps of its turn, in one transaction. A
// record whose Parent is not the newest fails with a wrapped graph.ErrConflict, unless its Source is graph.SourceFork;
// a fork from what is not there fails with a wrapped graph.ErrNoCheckpoint.
func (s *Saver) Save(ctx context.Context, thread string, r graph.Record) error {
	return s.SaveWith(ctx, thread, r, nil)
}

// SaveWith is Save, and does something else in the same transaction once the record is saved. An error of it fails the
// Save.
func (s *Saver) SaveWith(ctx context.Context, thread string, r graph.Record,
	also func(ctx context.Context, tx pgx.Tx) error) error {
	err := s.save(ctx, thread, r, also)
	if err == nil && r.Parent == "" { // a new thread: another one may have had its time
		s.prune(ctx)
	}
	return err
}

func (s *Saver) save(ctx context.Context, thread string, r graph.Record,
	also func(ctx context.Context, tx pgx.Tx) error) error {
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
		if _, err := tx.Exec(ctx, s.queries.dropTurn, []byte(thread), r.Turn); err != nil || also == nil {
			return err
		}
		return also(ctx, tx)
	})
}

// has reports whether a thread has a record; "" is there always, as the record before the first.
func (s *Saver) has(ctx context.Context, tx pgx.Tx, thread, id string) (known bool, err error) {
	if id == "" {
		return true, nil
	}
	err = tx.QueryRow(ctx, s.queries.has, []byte(thread), id).Scan(&known)
	return known, err
}

// insert adds a record and makes it the newest.
func (s *Saver) insert(ctx context.Context, tx pgx.Tx, thread string, r graph.Record) error {
	_, err := tx.Exec(ctx, s.queries.insert,
		[]byte(thread), r.ID, r.Parent, r.Turn, r.Source, r.At.UnixMicro(), []byte(r.Appended), []byte(r.Values))
	if err == nil {
		_, err = tx.Exec(ctx, s.queries.advance, []byte(thread), r.ID, s.now().UnixMilli())
	}
	return err
}

// write changes a thread in a transaction, one at a time; newest is the id of its newest record.
func (s *Saver) write(ctx context.Context, op, thread string, change func(tx pgx.Tx, newest string) error) error {
	err := pgx.BeginFunc(ctx, s.database.Pool, func(tx pgx.Tx) error {
		var newest string
		var used int64
		if err := tx.QueryRow(ctx, s.queries.lock, []byte(thread), s.now().UnixMilli()).
			Scan(&newest, &used); err != nil {
			return err
		}
		if newest != "" && used < s.idleBefore() { // it counts as deleted
			newest = ""
			if _, err := tx.Exec(ctx, s.queries.forgetRecords, []byte(thread)); err != nil {
				return err
			}
		}
		return change(tx, newest)
	})
	if slices.ContainsFunc(refusals, func(refusal error) bool { return errors.Is(err, refusal) }) && ctx.Err() == nil {
		return fmt.Errorf("%s %s: %w", op, s.database.Name, err)
	}
	return s.failed(ctx, op, err)
}

// Delete forgets the thread; one that is unknown is no error.
func (s *Saver) Delete(ctx context.Context, thread string) error {
	err := pgx.BeginFunc(ctx, s.database.Pool, func(tx pgx.Tx) error { return s.DeleteIn(ctx, tx, thread) })
	return s.failed(ctx, fmt.Sprintf("delete session %q from", thread), err)
}

// DeleteIn is Delete within a transaction. The row of the thread goes first: it locks the others.
func (s *Saver) DeleteIn(ctx context.Context, tx pgx.Tx, thread string) error {
	for _, query := range []string{s.queries.forgetThread, s.queries.forgetRecords, s.queries.dropSteps} {
		if _, err := tx.Exec(ctx, query, []byte(thread)); err != nil {
			return err
		}
	}
	return nil
}

// Compact makes a record, whose ID is that of the newest, the only one of its thread; with any other ID it fails with a
// wrapped graph.ErrConflict.
func (s *Saver) Compact(ctx context.Context, thread string, r graph.Record) error {
	return s.write(ctx, fmt.Sprintf("compact session %q in", thread), thread, func(tx pgx.Tx, newest string) error {
		if newest != r.ID || newest == "" {
			return graph.ErrConflict
		}
		if _, err := tx.Exec(ctx, s.queries.forgetRecords, []byte(thread)); err != nil {
			return err
		}
		return s.insert(ctx, tx, thread, r)
	})
}
