package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/rehearse-dev/rehearse/graph"
)

// The statements on steps. A later step has a higher id.
const (
	insertStepQuery = `INSERT INTO checkpoint_steps (thread, turn, node, item, at, used, writes) VALUES (?, ?, ?, ?, ?, ?, ?)`
	// touchQuery lets the time to live of a thread begin anew.
	touchQuery     = `UPDATE checkpoint_threads SET used = max(used, ?2) WHERE name = ?1`
	stepsQuery     = `SELECT turn, node, item, at, writes FROM checkpoint_steps WHERE thread = ?1 AND used >= ?2 ORDER BY id`
	dropStepsQuery = `DELETE FROM checkpoint_steps WHERE thread = ?1 AND turn <= ?2`
	// oldStepsQuery deletes some of the steps of threads that were never saved and have expired.
	oldStepsQuery = `
		DELETE FROM checkpoint_steps WHERE id IN (SELECT id FROM (SELECT id, used FROM checkpoint_steps ORDER BY id LIMIT 8) WHERE used < ?)`
	// claimQuery returns who has the claim on a thread then.
	claimQuery = `
		INSERT INTO checkpoint_claims (thread, owner, until) VALUES (?1, ?2, ?4)
		ON CONFLICT (thread) DO UPDATE SET
			until = CASE WHEN owner = ?2 OR until <= ?3 THEN excluded.until ELSE until END,
			owner = CASE WHEN owner = ?2 OR until <= ?3 THEN excluded.owner ELSE owner END
		RETURNING owner`
)

// SaveStep adds a step of the unfinished turn, and lets the time to live of the thread begin anew.
func (c *Saver) SaveStep(ctx context.Context, thread string, s graph.Step) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	err := c.file.Write(ctx, func(tx *sql.Tx) error {
		now := c.now().UnixMilli()
		_, err := tx.ExecContext(ctx, insertStepQuery, thread, s.Turn, s.Node, s.Item, s.At.UnixMicro(), now,
			[]byte(s.Writes))
		if err == nil {
			_, err = tx.ExecContext(ctx, touchQuery, thread, now)
		}
		if err == nil && c.ttl > 0 {
			_, err = tx.ExecContext(ctx, oldStepsQuery, c.idleBefore())
		}
		return err
	})
	return c.file.Explain(fmt.Sprintf("save a step of session %q in", thread), err)
}

// Steps returns the steps of the unfinished turn in the order in which they were saved; none for an unknown thread.
func (c *Saver) Steps(ctx context.Context, thread string) (steps []graph.Step, err error) {
	steps, err = c.readSteps(ctx, thread)
	return steps, c.file.Explain(fmt.Sprintf("read the steps of session %q from", thread), err)
}

func (c *Saver) readSteps(ctx context.Context, thread string) (steps []graph.Step, err error) {
	rows, err := c.steps.rows(ctx, thread, c.idleBefore())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var s graph.Step
		var at int64
		if err := rows.Scan(&s.Turn, &s.Node, &s.Item, &at, (*[]byte)(&s.Writes)); err != nil {
			return nil, err
		}
		s.At = time.UnixMicro(at).UTC()
		steps = append(steps, s)
	}
	return steps, rows.Err()
}

// DropSteps forgets the steps of a thread; none is no error.
func (c *Saver) DropSteps(ctx context.Context, thread string) error {
	err := c.file.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM checkpoint_steps WHERE thread = ?`, thread)
		return err
	})
	return c.file.Explain(fmt.Sprintf("drop the steps of session %q in", thread), err)
}

// Compact makes a record, whose ID is that of the newest, the only one of its thread; with any other ID it fails with a
// wrapped graph.ErrConflict.
func (c *Saver) Compact(ctx context.Context, thread string, r graph.Record) error {
	err := c.file.Write(ctx, func(tx *sql.Tx) error {
		var last int64
		var newest string
		var alive bool
		err := c.thread.row(ctx, tx, []any{thread, c.idleBefore()}, &last, &newest, &alive)
		switch {
		case errors.Is(err, sql.ErrNoRows), err == nil && (!alive || newest != r.ID):
			return graph.ErrConflict
		case err != nil:
			return err
		}
		if err := forgetRecords(ctx, tx, thread); err != nil {
			return err
		}
		done, err := c.insert.Exec(ctx, tx, 0, 0, r.ID, r.Turn, r.Source, r.At.UnixMicro(), []byte(r.Appended),
			[]byte(r.Values))
		if err != nil {
			return err
		}
		id, err := done.LastInsertId()
		if err == nil {
			_, err = c.advance.Exec(ctx, tx, thread, id, r.ID, c.now().UnixMilli())
		}
		return err
	})
	if errors.Is(err, graph.ErrConflict) {
		return fmt.Errorf("compact session %q in %s: %w", thread, c.file.Path, err)
	}
	return c.file.Explain(fmt.Sprintf("compact session %q in", thread), err)
}

// ClaimTurn lets only the caller continue the unfinished turn of a thread for a time, by the clock of this machine.
// While another caller has the claim it returns its name and a wrapped graph.ErrBusy.
func (c *Saver) ClaimTurn(ctx context.Context, thread, by string, lasts time.Duration) (other string, err error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	var owner string
	err = c.file.Write(ctx, func(tx *sql.Tx) error {
		now := c.now()
		return tx.QueryRowContext(ctx, claimQuery, thread, by, now.UnixMilli(), now.Add(lasts).UnixMilli()).Scan(&owner)
	})
	if err == nil && owner != by {
		return owner, fmt.Errorf("claim session %q in %s: %w", thread, c.file.Path, graph.ErrBusy)
	}
	return "", c.file.Explain(fmt.Sprintf("claim session %q in", thread), err)
}

// ReleaseTurn ends the claim of the caller, if there is one.
func (c *Saver) ReleaseTurn(ctx context.Context, thread, by string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	err := c.file.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM checkpoint_claims WHERE thread = ? AND owner = ?`, thread, by)
		return err
	})
	return c.file.Explain(fmt.Sprintf("release session %q in", thread), err)
}
