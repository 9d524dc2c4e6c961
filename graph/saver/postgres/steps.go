package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/rehearse-dev/rehearse/graph"
)

// SaveStep adds a step of the unfinished turn, and lets the time to live of the thread begin anew.
func (s *Saver) SaveStep(ctx context.Context, thread string, step graph.Step) error {
	now := s.now().UnixMilli()
	var both pgx.Batch
	both.Queue(s.queries.addStep, []byte(thread), step.Turn, step.Node, step.Item, step.At.UnixMicro(), now,
		[]byte(step.Writes))
	both.Queue(s.queries.touch, []byte(thread), now)
	err := s.database.Pool.SendBatch(ctx, &both).Close()
	return s.failed(ctx, fmt.Sprintf("save a step of session %q in", thread), err)
}

// Steps returns the steps of the unfinished turn in the order in which they were saved; none for an unknown thread.
func (s *Saver) Steps(ctx context.Context, thread string) ([]graph.Step, error) {
	steps, err := s.steps(ctx, thread)
	return steps, s.failed(ctx, fmt.Sprintf("read the steps of session %q from", thread), err)
}

func (s *Saver) steps(ctx context.Context, thread string) ([]graph.Step, error) {
	rows, err := s.database.Pool.Query(ctx, s.queries.steps, []byte(thread), s.idleBefore())
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (step graph.Step, err error) {
		var at int64
		var writes []byte
		err = row.Scan(&step.Turn, &step.Node, &step.Item, &at, &writes)
		step.At, step.Writes = time.UnixMicro(at).UTC(), json.RawMessage(writes)
		return step, err
	})
}

// DropSteps forgets the steps of a thread; none is no error.
func (s *Saver) DropSteps(ctx context.Context, thread string) error {
	_, err := s.database.Pool.Exec(ctx, s.queries.dropSteps, []byte(thread))
	return s.failed(ctx, fmt.Sprintf("drop the steps of session %q in", thread), err)
}

// ClaimTurn lets only the caller continue the unfinished turn of a thread for a time, by the clock of the database.
// While another caller has the claim it returns its name and a wrapped graph.ErrBusy.
func (s *Saver) ClaimTurn(ctx context.Context, thread, by string, lasts time.Duration) (other string, err error) {
	op := fmt.Sprintf("claim session %q in", thread)
	var owner string
	err = s.database.Pool.QueryRow(ctx, s.queries.claim, []byte(thread), by, lasts.Milliseconds()).Scan(&owner)
	if err == nil && owner != by {
		return owner, fmt.Errorf("%s %s: %w", op, s.database.Name, graph.ErrBusy)
	}
	return "", s.failed(ctx, op, err)
}

// ReleaseTurn ends the claim of the caller, if there is one.
func (s *Saver) ReleaseTurn(ctx context.Context, thread, by string) error {
	_, err := s.database.Pool.Exec(ctx, s.queries.release, []byte(thread), by)
	return s.failed(ctx, fmt.Sprintf("release session %q in", thread), err)
}
