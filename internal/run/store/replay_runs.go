package store

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/rehearse-dev/rehearse/internal/replay"
)

// ReplayRuns keeps the runs of replay and the outcomes of their sessions, in a store's file or in a PostgreSQL
// database, with the same answers. Runs of suites are in the index of a Store. It is safe for concurrent use and for
// several processes. Store.ReplayRuns and Postgres.ReplayRuns return it. Text, times and JSON come back as Events
// describes it. In PostgreSQL the table exp.conversation_replay_results may belong to an application, with UUIDs as
// ids; NULL is then read as empty.
type ReplayRuns struct {
	table replayRunTable
}

var _ replay.Runs = (*ReplayRuns)(nil)

// replayRunTable is the part of ReplayRuns that differs between databases.
type replayRunTable interface {
	watchTable
	// runs returns the newest runs, or with an id that run, if it exists. A limit below 1 means all.
	runs(ctx context.Context, id string, limit int) ([]replay.Run, error)
	putRun(ctx context.Context, r replayRunRow) error
	// claimRun writes the row of a run where there is none, or in place of the former one where nobody has changed
	// that. It reports whether it did.
	claimRun(ctx context.Context, r replayRunRow, former *replay.Run) (claimed bool, err error)
	// sweep ends the runs that were last seen before a time.
	sweep(ctx context.Context, before time.Time) (int, error)
	// putOutcomes writes rows ordered by session, one for each session, and records when the run was seen. It reports
	// whether the run exists; for a missing run it writes nothing.
	putOutcomes(ctx context.Context, run string, rows []outcomeRow, seen time.Time) (known bool, err error)
	// runsOf returns the ids of the runs of a flow that have a session.
	runsOf(ctx context.Context, flow, session string) ([]string, error)
	// changeOutcome replaces the row of a session of a run. It reports whether there is one.
	changeOutcome(ctx context.Context, run, session string, change func(*outcomeRow) error) (there bool, err error)
	// forgotten waits until nothing of what was replaced is left in the files.
	forgotten(ctx context.Context) error
	// page hands the sessions of a run after one, in the byte order of their ids, until take returns false.
	page(ctx context.Context, run, after string, limit int, take func(replay.Outcome) bool) error
	// place names the database in errors.
	place() string
}

// brokenOff is the error of a run that was killed.
const brokenOff = "the program that ran it ended before the run was complete"

// PutRun writes the row of a run, and replaces an earlier row with its id. It does not change the sessions. A long
// Error is cut.
func (r *ReplayRuns) PutRun(ctx context.Context, run replay.Run) error {
	row, err := newReplayRunRow(run)
	if err != nil {
		return err
	}
	return r.table.putRun(ctx, row)
}

// ClaimRun writes the row of a run that begins: where there is none, or, with a former one as Run has returned it,
// where its status and the time when it was seen are still those. It reports whether it did; of several processes that
// claim a run at once, one does.
func (r *ReplayRuns) ClaimRun(ctx context.Context, run replay.Run, former *replay.Run) (claimed bool, err error) {
	row, err := newReplayRunRow(run)
	if err != nil {
		return false, err
	}
	return r.table.claimRun(ctx, row, former)
}

// Run returns the run with the id. If there is none, the error wraps replay.ErrUnknown.
func (r *ReplayRuns) Run(ctx context.Context, id string) (replay.Run, error) {
	if id == "" {
		return replay.Run{}, r.unknown(id, "name one")
	}
	found, err := r.table.runs(ctx, plainText(id), 0)
	if err == nil && len(found) == 0 {
		err = r.unknown(id, "use the id that the run told at its end")
	}
	if err != nil {
		return replay.Run{}, err
	}
	return found[0], nil
}

func (r *ReplayRuns) unknown(id, hint string) error {
	return fmt.Errorf("look for replay run %q in %s: %w; %s", shortened(id), r.table.place(), replay.ErrUnknown, hint)
}

// Runs returns the runs that started last, newest first; a limit below 1 means all. Those without a time come last.
func (r *ReplayRuns) Runs(ctx context.Context, limit int) ([]replay.Run, error) {
	return r.table.runs(ctx, "", limit)
}

// Sweep ends the runs that are Running and were last seen longer than replay.StaleAfter ago, because their process was
// killed. Their status becomes Partially, with an Error, and they end at the time when they were last seen. It returns
// their number.
func (r *ReplayRuns) Sweep(ctx context.Context, now time.Time) (int, error) {
	return r.table.sweep(ctx, now.Add(-replay.StaleAfter))
}

// PutOutcomes adds sessions of a run, all or none. A known session is replaced; of several with the same id, the last
// counts. The run counts as seen now, even without any outcomes. If there is no such run, the error wraps
// replay.ErrUnknown. Metrics and Detail are JSON objects of at most 32 MB each, or none.
func (r *ReplayRuns) PutOutcomes(ctx context.Context, runID string, outcomes []replay.Outcome, now time.Time) error {
	rows, err := newOutcomeRows(outcomes)
	if err != nil {
		return err
	}
	if err := checkTime("now", now); err != nil {
		return fmt.Errorf("replay run %q: %w", shortened(runID), err)
	}
	known, err := r.table.putOutcomes(ctx, plainText(runID), rows, now)
	if err == nil && !known {
		err = r.unknown(runID, "put the run before its sessions")
	}
	return err
}

// Outcomes yields the sessions of a run in the byte order of their ids. It reads them in pages, so that it needs no
// connection while the caller is busy. For an unknown run it yields nothing. After an error it yields nothing more.
func (r *ReplayRuns) Outcomes(ctx context.Context, runID string) iter.Seq2[replay.Outcome, error] {
	return func(yield func(replay.Outcome, error) bool) {
		after := ""
		pages[replay.Outcome]{size: outcomeSize, read: func(ctx context.Context, limit int,
			take func(replay.Outcome) bool) error {
			return r.table.page(ctx, plainText(runID), after, limit, func(o replay.Outcome) bool {
				after = o.SessionID
				return take(o)
			})
		}}.each(ctx)(yield)
	}
}

// EraseSession takes the words of a session of a flow out of all runs. What was counted of it stays. There may be none.
func (r *ReplayRuns) EraseSession(ctx context.Context, flow, session string) error {
	flow, session = plainText(flow), plainText(session)
	runs, err := r.table.runsOf(ctx, flow, session)
	if err != nil {
		return err
	}
	erased := false
	for _, run := range runs { // one at a time, as each may be large
		there, err := r.table.changeOutcome(ctx, run, session, (*outcomeRow).eraseWords)
		if err != nil {
			return err
		}
		erased = erased || there
	}
	if erased {
		err = r.table.forgotten(ctx)
	}
	return err
}

func outcomeSize(o replay.Outcome) int {
	return len(o.SessionID) + len(o.Dropped) + len(o.Metrics) + len(o.Detail)
}
