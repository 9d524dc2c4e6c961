package store

import (
	"context"
	"iter"
	"time"

	"rehearse/internal/replay"
)

// Runs keeps evaluations of variants and what became of their sessions, in a store's file or in a PostgreSQL database, with the same answers.
// It is safe for concurrent use and for several processes. Store.ReplayRuns and Postgres.ReplayRuns give it.
type Runs struct{}

var _ replay.Runs = (*Runs)(nil)

// ReplayRuns returns the evaluations that the store keeps. They end with the store. Store.Runs is the index of other runs.
func (s *Store) ReplayRuns() *Runs { return &Runs{} }

// ReplayRuns returns the evaluations that the database keeps. They end with p.
func (p *Postgres) ReplayRuns() *Runs { return &Runs{} }

// PutRun writes the row of a run, new or known.
func (*Runs) PutRun(context.Context, replay.Run) error { return errUnfinished }

// PutOutcomes adds sessions of a run, all or none.
func (*Runs) PutOutcomes(context.Context, string, []replay.Outcome, time.Time) error {
	return errUnfinished
}

// Outcomes yields the sessions of a run in the byte order of their ids.
func (*Runs) Outcomes(context.Context, string) iter.Seq2[replay.Outcome, error] {
	return func(yield func(replay.Outcome, error) bool) { yield(replay.Outcome{}, errUnfinished) }
}

// Run returns the run with the id, else an error that wraps replay.ErrUnknown.
func (*Runs) Run(context.Context, string) (replay.Run, error) { return replay.Run{}, errUnfinished }

// Runs returns the newest runs, newest first; a limit below 1 means all.
func (*Runs) Runs(context.Context, int) ([]replay.Run, error) { return nil, errUnfinished }

// Sweep makes runs partial that have been silent for replay.StaleAfter, and returns how many.
func (*Runs) Sweep(context.Context, time.Time) (int, error) { return 0, errUnfinished }
