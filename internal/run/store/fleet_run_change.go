package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// UpdateRun changes a run: it hands the run to change, and writes what change has made of it. change decides by the
// run's status, as nobody else can change the run meanwhile; its error undoes everything and is returned as it is.
// change must not use the store, nor take seconds.
//
// A change of the status is an event; a final status is the last one, with the event end. What does not follow from the
// status, such as from running to queued, is refused with ErrChanged, everything about a run that has ended with
// ErrRunEnded, and everything with ErrLeaseLost if the fence does not hold. ID, Schema, Kind, Schedule, Fingerprint,
// CreatedAt, CancelAt and what the store counts stay as they are. An end without EndedAt ends now.
func (f *Fleet) UpdateRun(ctx context.Context, id string, fence Fence, change func(*Run) error) (Run, error) {
	var after Run
	var refused error // by change, which is not the store's fault
	err := f.write(ctx, "write a run to", func(tx transaction) error {
		before, err := f.lockRun(ctx, tx, id, fence)
		if err != nil {
			return err
		}
		next := before
		next.Run = copyRun(before.Run)
		if refused = change(&next.Run); refused != nil {
			return refused
		}
		if err := f.keepRun(ctx, tx, &before, &next); err != nil {
			return err
		}
		after = next.Run
		return nil
	})
	if refused != nil {
		return Run{}, refused
	}
	return after, err
}

// lockRun reads a run that nobody else changes until the transaction ends, if the fence holds.
func (f *Fleet) lockRun(ctx context.Context, tx transaction, id string, fence Fence) (row runRow, err error) {
	if err := f.demand(ctx, tx, fence); err != nil {
		return row, err
	}
	if err := tx.lock(ctx, "run "+plainText(id)); err != nil {
		return row, err
	}
	if row, err = f.runRow(ctx, tx.read, id); err != nil {
		return row, err
	}
	if row.Status.Ended() {
		err = f.fault("write a run to", fmt.Sprintf("run %s has ended as %s", shortened(id), row.Status),
			"start another run", ErrRunEnded)
	}
	return row, err
}

// copyRun returns a run whose words are its own, so that it can be told what has changed.
func copyRun(r Run) Run {
	r.Labels, r.Suites, r.Targets = maps.Clone(r.Labels), slices.Clone(r.Suites), slices.Clone(r.Targets)
	return r
}

// keepRun writes what a run has become, with its events.
func (f *Fleet) keepRun(ctx context.Context, tx transaction, before, next *runRow) error {
	moved := next.Status != before.Status
	if moved && !next.Status.follows(before.Status) {
		return f.fault("write a run to", fmt.Sprintf("run %s is %s and cannot become %q", before.ID, before.Status,
			next.Status), "read the run again", ErrChanged)
	}
	now, err := tx.now(ctx)
	if err != nil {
		return err
	}
	next.ID, next.Schema, next.Kind, next.Schedule, next.Fingerprint = before.ID, before.Schema, before.Kind,
		before.Schedule, before.Fingerprint
	next.CreatedAt, next.Progress.Done = before.CreatedAt, before.Progress.Done
	ended := moved && next.Status.Ended()
	if ended {
		if next.EndedAt == nil {
			next.EndedAt = &now
		}
		next.Progress.Running = 0
	}
	body, err := next.encode()
	if err != nil {
		return err
	}
	if moved {
		if err := addEvents(ctx, tx, next, body, ended); err != nil {
			return err
		}
	}
	if _, err := tx.exec(ctx,
		`UPDATE exp.fleet_runs SET status = $2, name = $3, ended_at = $4, body = $5, last_event = $6 WHERE number = $1`,
		next.number, string(next.Status), word(next.Name), microsOf(next.EndedAt), body, next.lastEvent); err != nil {
		return err
	}
	if !slices.Equal(before.Suites, next.Suites) || !slices.Equal(before.Targets, next.Targets) ||
		!maps.Equal(before.Labels, next.Labels) {
		if _, err := tx.exec(ctx, `DELETE FROM exp.fleet_words WHERE run = $1`, next.number); err != nil {
			return err
		}
		if err := addWords(ctx, tx, next); err != nil {
			return err
		}
	}
	if !ended {
		return nil
	}
	if _, err := tx.exec(ctx, `INSERT INTO exp.fleet_endings (run) VALUES ($1)`, next.number); err != nil {
		return err
	}
	return countDurations(ctx, tx, next.number, 1)
}

// CancelRun asks for the end of a run. One that waits ends at once as cancelled; of one that goes on CancelAt is set,
// and whoever leads it ends it. Asking again changes nothing. A run that has ended is refused with ErrRunEnded.
func (f *Fleet) CancelRun(ctx context.Context, id string) (Run, error) {
	var after Run
	err := f.write(ctx, "cancel a run in", func(tx transaction) error {
		before, err := f.lockRun(ctx, tx, id, Fence{})
		if err != nil {
			return err
		}
		next := before
		if before.CancelAt == nil {
			now, err := tx.now(ctx)
			if err != nil {
				return err
			}
			next.CancelAt = new(now.UTC().Truncate(time.Microsecond))
			if _, err := tx.exec(ctx, `UPDATE exp.fleet_runs SET cancel_at = $2 WHERE number = $1`, before.number,
				micros(now)); err != nil {
				return err
			}
		}
		if before.Status == RunQueued {
			next.Status, next.ExitReason, next.ExitCode = RunCancelled, new(result.ReasonInterrupted),
				new(result.ExitInterrupted)
			if next.Totals, err = unheldTotals(ctx, tx, before.number); err != nil {
				return err
			}
			if err := f.keepRun(ctx, tx, &before, &next); err != nil {
				return err
			}
		}
		after = next.Run
		return nil
	})
	return after, err
}
