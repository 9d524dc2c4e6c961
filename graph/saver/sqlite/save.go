package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/rehearse-dev/rehearse/graph"
)

// saving is a Save that waits for its transaction.
type saving struct {
	ctx    context.Context
	thread string
	record graph.Record
	also   func(ctx context.Context, tx *sql.Tx) error // nil, or what is done in the same transaction
	done   bool                                        // no transaction has to be tried any more
	err    error
}

// savings are Saves that wait for the file. Saves that come while the file is written share the next transaction,
// because the cost of a transaction hardly depends on its size.
type savings struct {
	turn    sync.Mutex // held while writing; guards what is in a saving
	mu      sync.Mutex
	waiting []*saving
}

// maxSavings bounds how long one transaction keeps others from the file.
const maxSavings = 256

// Save adds a record, which becomes the newest of its thread, in one transaction. A record whose Parent is not the
// newest fails with a wrapped graph.ErrConflict, unless its Source is graph.SourceFork; a fork from what is not there
// fails with a wrapped graph.ErrNoCheckpoint.
func (c *Saver) Save(ctx context.Context, thread string, r graph.Record) error {
	return c.SaveWith(ctx, thread, r, nil)
}

// SaveWith is Save, and does something else in the same transaction once the record is saved. An error of it fails all
// that is saved in the transaction.
func (c *Saver) SaveWith(ctx context.Context, thread string, r graph.Record,
	also func(ctx context.Context, tx *sql.Tx) error) error {
	s := &saving{ctx: ctx, thread: thread, record: r, also: also}
	c.savings.add(s)
	c.savings.turn.Lock()
	defer c.savings.turn.Unlock()
	for !s.done { // more than once only when more wait than one transaction takes
		c.saveAll(c.savings.take())
	}
	if errors.Is(s.err, graph.ErrConflict) || errors.Is(s.err, graph.ErrNoCheckpoint) {
		return fmt.Errorf("save session %q in %s: %w", thread, c.file.Path, s.err)
	}
	return c.file.Explain(fmt.Sprintf("save session %q in", thread), s.err)
}

func (w *savings) add(s *saving) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting = append(w.waiting, s)
}

func (w *savings) take() []*saving {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := min(len(w.waiting), maxSavings)
	batch := slices.Clone(w.waiting[:n])
	w.waiting = slices.Delete(w.waiting, 0, n)
	return batch
}

// saveAll saves what it can in one transaction. If the transaction fails, none of the records is saved.
func (c *Saver) saveAll(batch []*saving) {
	// Without cancellation: one caller's context may end while the others' do not.
	ctx := context.WithoutCancel(batch[0].ctx)
	err := c.file.Write(ctx, func(tx *sql.Tx) error {
		for _, s := range batch {
			if s.err = s.ctx.Err(); s.err != nil {
				continue
			}
			s.err = c.save(ctx, tx, s.thread, s.record)
			if s.err == nil && s.also != nil {
				s.err = s.also(ctx, tx)
			}
			if s.err != nil && !errors.Is(s.err, graph.ErrConflict) && !errors.Is(s.err, graph.ErrNoCheckpoint) {
				return s.err
			}
		}
		return nil
	})
	for _, s := range batch {
		s.done = true
		if err != nil {
			s.err = err
		}
	}
}

// save saves one record. When it returns a conflict it has changed nothing.
func (c *Saver) save(ctx context.Context, tx *sql.Tx, thread string, r graph.Record) error {
	previous, parent, err := c.place(ctx, tx, thread, r)
	if err != nil {
		return err
	}
	done, err := c.insert.Exec(ctx, tx,
		previous, parent, r.ID, r.Turn, r.Source, r.At.UnixMicro(), []byte(r.Appended), []byte(r.Values))
	if err != nil {
		return err
	}
	id, err := done.LastInsertId()
	if err != nil {
		return err
	}
	if _, err = c.advance.Exec(ctx, tx, thread, id, r.ID, c.now().UnixMilli()); err != nil {
		return err
	}
	_, err = c.dropSteps.Exec(ctx, tx, thread, r.Turn)
	return err
}

// place checks the parent of a record and returns its id and that of the thread's newest record; 0 is none.
func (c *Saver) place(ctx context.Context, tx *sql.Tx, thread string,
	r graph.Record) (previous, parent int64, err error) {
	var newest string
	var alive bool
	err = c.thread.row(ctx, tx, []any{thread, c.idleBefore()}, &previous, &newest, &alive)
	known := err == nil
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, 0, err
	}
	switch fork := r.Source == graph.SourceFork; {
	case alive && r.Parent == newest:
		return previous, previous, nil
	case alive && fork && r.Parent == "":
		return previous, 0, nil
	case alive && fork:
		parent, err = c.forked(ctx, tx, thread, r.Parent)
		return previous, parent, err
	case fork && r.Parent != "":
		return 0, 0, graph.ErrNoCheckpoint
	case alive || r.Parent != "":
		return 0, 0, graph.ErrConflict
	}
	return 0, 0, c.begin(ctx, tx, thread, known)
}

// forked returns the id of the record from which a fork goes on.
func (c *Saver) forked(ctx context.Context, tx *sql.Tx, thread, name string) (id int64, err error) {
	err = tx.QueryRowContext(ctx, goalNamed, thread, c.idleBefore(), name).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		err = graph.ErrNoCheckpoint
	}
	return id, err
}

// begin makes room for a thread. It deletes some expired threads, and an expired thread with its name.
func (c *Saver) begin(ctx context.Context, tx *sql.Tx, thread string, expired bool) error {
	if expired {
		return forget(ctx, tx, thread)
	}
	for range pruneTimes {
		if err := c.prune(ctx, tx); err != nil {
			return err
		}
	}
	return nil
}

const (
	// pruneTimes is the greatest number of expired threads that are deleted for each new one. It is more than one, so
	// that a file full of them shrinks.
	pruneTimes = 2
	// pruneRecords is how many records of a thread are deleted at once.
	pruneRecords = 256
)

// prune looks at the next few threads and deletes the first expired one. Of a long one it deletes only a small part, so
// that no turn is delayed. It goes round the threads. An index by time would slow every Save down.
func (c *Saver) prune(ctx context.Context, tx *sql.Tx) error {
	if c.ttl <= 0 {
		return nil
	}
	var last, expired sql.NullInt64
	if err := c.look.row(ctx, tx, []any{c.looked, c.idleBefore()}, &last, &expired); err != nil {
		return err
	}
	if !expired.Valid {
		c.looked = last.Int64 // 0 past the last: from the beginning again
		return nil
	}
	c.looked = expired.Int64 - 1 // what is left of it goes next time
	return cut(ctx, tx, expired.Int64, pruneRecords)
}

// DeleteIn is Delete within a transaction.
func (c *Saver) DeleteIn(ctx context.Context, tx *sql.Tx, thread string) error {
	return forget(ctx, tx, thread)
}

// forget deletes a thread with all its records and steps.
func forget(ctx context.Context, tx *sql.Tx, thread string) error {
	if _, err := tx.ExecContext(ctx, `DELETE FROM checkpoint_steps WHERE thread = ?`, thread); err != nil {
		return err
	}
	return forgetRecords(ctx, tx, thread)
}

// forgetRecords deletes all records of a thread.
func forgetRecords(ctx context.Context, tx *sql.Tx, thread string) error {
	var id int64
	err := tx.QueryRowContext(ctx, `SELECT coalesce(max(id), 0) FROM checkpoint_threads WHERE name = ?`, thread).
		Scan(&id)
	if err != nil || id == 0 {
		return err
	}
	return cut(ctx, tx, id, math.MaxInt64)
}

// cut deletes the newest records of a thread, and the thread itself when no record is left.
func cut(ctx context.Context, tx *sql.Tx, id, records int64) error {
	rest, err := cutRecords(ctx, tx, id, records)
	if err != nil {
		return err
	}
	if rest == 0 {
		_, err = tx.ExecContext(ctx, `DELETE FROM checkpoint_threads WHERE id = ?`, id)
	} else {
		_, err = tx.ExecContext(ctx, `UPDATE checkpoint_threads SET last = ? WHERE id = ?`, rest, id)
	}
	return err
}

// cutRecords deletes the newest records of a thread and returns the one before them, 0 for none.
func cutRecords(ctx context.Context, tx *sql.Tx, id, records int64) (rest int64, err error) {
	rows, err := tx.QueryContext(ctx, cutQuery, id, records)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	rest = math.MaxInt64
	for rows.Next() {
		var previous int64
		if err := rows.Scan(&previous); err != nil {
			return 0, err
		}
		rest = min(rest, previous)
	}
	if rest == math.MaxInt64 { // there was none
		rest = 0
	}
	return rest, rows.Err()
}
