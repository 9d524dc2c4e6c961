package store

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// RetainLabel is the label of runs that Prune never deletes, whatever its value.
const RetainLabel = "keep"

// DeleteRun deletes a run that has ended with all that belongs to it: its spec, results, events and rows of artifacts,
// and blobs that it alone needed. The bytes of artifacts are with the caller: those that no run has any more are then
// in OrphanedArtifacts. A run that has not ended is refused with ErrRunUnfinished.
func (f *Fleet) DeleteRun(ctx context.Context, id string) error {
	return f.write(ctx, "delete a run in", func(tx transaction) error {
		if err := tx.lock(ctx, "run "+plainText(id), "blobs"); err != nil {
			return err
		}
		row, err := f.runRow(ctx, tx.read, id)
		if err != nil {
			return err
		}
		if !row.Status.Ended() {
			return f.fault("delete a run in", fmt.Sprintf("run %s is %s", row.ID, row.Status), "cancel it first",
				ErrRunUnfinished)
		}
		return deleteRun(ctx, tx, &row)
	})
}

// deleteRun deletes the rows of a run in all tables.
func deleteRun(ctx context.Context, tx transaction, row *runRow) error {
	if err := countDurations(ctx, tx, row.number, -1); err != nil {
		return err
	}
	first, last := beforeRun(row.number), endOfRun(row.number)
	if err := orphanArtifacts(ctx, tx, first, last); err != nil {
		return err
	}
	for _, table := range []string{"fleet_artifacts", "fleet_texts", "fleet_records", "fleet_results"} {
		if _, err := tx.exec(ctx, `DELETE FROM exp.`+table+` WHERE place > $1 AND place <= $2`,
			first, last); err != nil {
			return err
		}
	}
	for _, table := range []string{"fleet_events", "fleet_words", "fleet_specs", "fleet_files", "fleet_endings"} {
		if _, err := tx.exec(ctx, `DELETE FROM exp.`+table+` WHERE run = $1`, row.number); err != nil {
			return err
		}
	}
	if _, err := tx.exec(ctx, `DELETE FROM exp.fleet_durations WHERE n <= 0`); err != nil {
		return err
	}
	if _, err := tx.exec(ctx, `DELETE FROM exp.fleet_leases WHERE name = $1`, RunLease(row.ID)); err != nil {
		return err
	}
	if _, err := tx.exec(ctx, `DELETE FROM exp.fleet_runs WHERE number = $1`, row.number); err != nil {
		return err
	}
	return freeBlobs(ctx, tx, runOwner(row.ID))
}

// RunLease names the lease of whoever leads a run. It is deleted with the run.
func RunLease(run string) string { return "run " + plainText(run) }

// Pruning says which runs Prune keeps. At least one of its fields must be set; what either keeps is kept.
type Pruning struct {
	// OlderThan keeps runs that ended so long ago or later; 0 keeps none.
	OlderThan time.Duration
	// Newest keeps so many of the runs that were submitted last, among those that have ended; 0 keeps none.
	Newest int
}

// prunedAtOnce bounds the runs that Prune looks for at once.
const prunedAtOnce = 100

// Prune deletes runs that have ended, each as DeleteRun does, and returns their ids, also beside an error. Runs with
// the label KeepLabel stay, and count among the newest. Blobs that no run or schedule ever named are deleted a day
// after they were put.
func (f *Fleet) Prune(ctx context.Context, p Pruning) (pruned []string, err error) {
	if p.OlderThan < 0 || p.Newest < 0 || p == (Pruning{}) {
		return nil, f.fault("prune runs in", "it is not said which runs to keep",
			"give an age, a number of runs, or both", ErrInvalid)
	}
	now, err := f.now(ctx)
	if err != nil {
		return nil, err
	}
	for {
		runs, err := f.prunable(ctx, p, now)
		if err != nil {
			return pruned, err
		}
		for _, id := range runs {
			switch err := f.DeleteRun(ctx, id); {
			case errors.Is(err, ErrUnknown): // another server was faster
			case err != nil:
				return pruned, err
			default:
				pruned = append(pruned, id)
			}
		}
		if len(runs) < prunedAtOnce {
			return pruned, f.sweepBlobs(ctx, now)
		}
	}
}

// prunable returns the ids of runs to be deleted, the oldest first.
func (f *Fleet) prunable(ctx context.Context, p Pruning, now time.Time) ([]string, error) {
	var q conditions
	unfinished := "status NOT IN (" + q.arg(string(RunQueued)) + ", " + q.arg(string(RunRunning)) + ")"
	q.all = append(q.all, unfinished)
	if p.OlderThan > 0 {
		q.where("ended_at <= %s", micros(now.Add(-p.OlderThan)))
	}
	if p.Newest > 0 {
		// Below the oldest of the newest; where there are fewer runs than that, the comparison is with NULL, and no run
		// is chosen.
		q.where("number < (SELECT number FROM exp.fleet_runs WHERE "+unfinished+
			" ORDER BY number DESC LIMIT 1 OFFSET %s)", int64(p.Newest-1))
	}
	q.all = append(q.all, "number NOT IN (SELECT run FROM exp.fleet_words WHERE kind = "+q.arg(wordLabel)+
		" AND value >= "+q.arg(RetainLabel+":")+" AND value < "+q.arg(RetainLabel+";")+")")
	return list(ctx, f, "read runs from",
		`SELECT id FROM exp.fleet_runs WHERE `+q.String()+` ORDER BY number LIMIT `+q.arg(int64(prunedAtOnce)),
		q.args, func(row scanner) (id string, err error) {
			err = row.Scan(&id)
			return id, err
		})
}

// now is the time by the store's clock.
func (f *Fleet) now(ctx context.Context) (now time.Time, err error) {
	err = f.write(ctx, "ask the time of", func(tx transaction) error {
		now, err = tx.now(ctx)
		return err
	})
	return now, err
}
