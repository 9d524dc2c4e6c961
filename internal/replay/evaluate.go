package replay

import (
	"context"
	"errors"
	"iter"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/base/stats"
)

// Evaluation replays the sessions of a flow and reports what came of it.
type Evaluation struct {
	Events Events
	// Runs keeps the run and its sessions as they are finished; nil keeps nothing.
	Runs Runs
	// From and To bound the events, To being excluded. Days are those of From's time zone.
	From, To time.Time
	// SessionGap is that of Sessions.
	SessionGap time.Duration
	// MinTurns is the least number of the user's messages. SampleSize is how many sessions are drawn; 0 means all.
	MinTurns, SampleSize int
	Measuring            Measuring
	Replayer             *Replayer
	// Workers is how many sessions are replayed at once, at least 1.
	Workers int
	// Pool starts what replays the sessions. It ends with ctx, or when it is closed.
	Pool func(ctx context.Context) WorkerPool
	// Head is the report as far as it is known before: run, variants, days.
	Head  Report
	Rules Rules
	// Resumed is true when the run goes on: sessions that are kept are not replayed again.
	Resumed bool
	// Each gets every pair in the order of the sessions' ids; nil is allowed.
	Each func(*Pair) error
	// Store gets sessions before Runs does, as they are finished; its error ends the run. Nil is allowed.
	Store func([]PairResult) error
	// Logged reports whether Store has got a session in an earlier part of the run; nil means that it has all that Runs
	// has.
	Logged func(session string) bool
	// Planned is called with the number of sessions before the first is begun, which takes a pass over the log; nil is
	// allowed.
	Planned func(sessions int) error
	// Known is told how many sessions there are, once all of them are begun; nil is allowed.
	Known func(sessions int)
	// Progress is told now and then how many sessions are done, from one goroutine at a time; nil is allowed.
	Progress func(done int)
	Now      func() time.Time

	// byEnd and known are as in Choice; LooksAt sets them.
	byEnd bool
	known func(session string) bool
}

// ErrNothingReplayed says that every session was dropped.
var ErrNothingReplayed = errors.New("no session could be replayed")

// Evaluate runs the evaluation. Whatever happens, the run's row says how it ended, as far as the store can be reached,
// and the sessions that were finished are kept. The report comes with ErrNothingReplayed, too.
func (e *Evaluation) Evaluate(ctx context.Context) (*Report, error) { return e.evaluate(ctx, &Tally{}) }

func (e *Evaluation) evaluate(ctx context.Context, tally *Tally) (*Report, error) {
	run := &e.Head.Run
	run.Status, run.Started, run.Seen = Running, e.Now(), e.Now()
	if err := e.putRun(ctx, *run); err != nil {
		return nil, err
	}
	err := e.replayAll(ctx, tally)
	var report *Report
	if err == nil {
		report, err = tally.Report(e.Head, e.Rules)
	}
	if err == nil && report.Run.Sessions == 0 {
		err = ErrNothingReplayed
		if report.Run.PairsDropped == 0 {
			report, err = nil, &NothingError{*e.Head.LogToFigures}
		}
	}
	row := *run
	if report != nil {
		row = report.Run
	}
	row.Status, row.Seen, row.Ended = Done, e.Now(), e.Now()
	if err != nil {
		row.Error, row.Status = err.Error(), Failed
		row.Sessions, row.PairsDropped = len(tally.sessions), len(tally.lost)
		if len(tally.sessions) > 0 {
			row.Status = Partially
		}
	}
	ending := retryWrite(context.WithoutCancel(ctx), func(ctx context.Context) error { return e.putRun(ctx, row) })
	err = errors.Join(err, ending)
	if report != nil {
		report.Run = row
	}
	return report, err
}

func (e *Evaluation) putRun(ctx context.Context, r Run) error {
	if e.Runs == nil {
		return nil
	}
	return e.Runs.PutRun(ctx, r)
}

// WorkerPool replays sessions side by side, here or elsewhere. It is safe for concurrent use.
type WorkerPool interface {
	// Begin has a session replayed. It waits for a place, not for the end: ended is told that once, by any goroutine.
	Begin(ctx context.Context, s *Session, ended func(PairResult)) error
	// Pass says that a session was replayed before.
	Pass(s *Session)
	// Close gives up what is under way. Nobody is told of an end any more when it returns.
	Close()
}

// job is one session on its way: begun, and taken by the collector in the order of the sessions.
type job struct {
	resultOf PairResult
	done     chan struct{}
}

// replayAll replays the sessions side by side and takes them in order, so that the report does not depend on who was
// faster.
func (e *Evaluation) replayAll(ctx context.Context, tally *Tally) error {
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	ordered := make(chan *job, 8*max(e.Workers, 1))
	finished := make(chan PairResult, outcomesPerBatch)
	var faults Faults
	table := &LogToFigures{}
	kept := make(chan error, 1)
	go func() { kept <- e.keep(ctx, finished, giveUp) }()
	group, playing := errgroup.WithContext(ctx)
	crew := e.Pool(playing)
	group.Go(func() error {
		defer close(ordered)
		return e.send(playing, table, &faults, crew, finished, ordered)
	})
	group.Go(func() error { return e.collect(playing, ordered, tally) })
	err := group.Wait()
	crew.Close()
	close(finished)
	table.RowFaults = faults.List()
	e.Head.LogToFigures = table
	e.Head.Notes = append(e.Head.Notes, faults.Notes()...)
	if failed := <-kept; failed != nil {
		return failed
	}
	return err
}

// send begins the sessions.
func (e *Evaluation) send(ctx context.Context, table *LogToFigures, faults *Faults, crew WorkerPool,
	finished chan<- PairResult, ordered chan<- *job) error {
	inFlow := Filter{FlowID: e.Head.Run.FlowID, From: e.From, To: e.To}
	if err := faults.countUnusable(ctx, e.Events, inFlow); err != nil {
		return err
	}
	chosen, err := e.sample(ctx)
	if err != nil {
		return err
	}
	if e.Planned != nil {
		planned := len(chosen)
		if chosen == nil {
			for _, err := range e.chosen(ctx, &LogToFigures{}, &Faults{}) {
				if err != nil {
					return err
				}
				planned++
			}
		}
		if err := e.Planned(planned); err != nil {
			return err
		}
	}
	if e.Replayer.Mode == Simulated && e.Replayer.User != nil {
		if e.Head.Fidelity, err = e.fidelity(ctx, chosen); err != nil {
			return err
		}
	}
	former, stop := e.former(ctx)
	defer stop()
	states := &LoggedStates{}
	e.Head.States = states
	known, sliced := 0, map[string]bool{}
	for s, err := range e.chosen(ctx, table, faults) {
		if err != nil {
			return err
		}
		if chosen != nil && !chosen[s.ID] {
			table.NotSampled++
			continue
		}
		known++
		for _, kind := range sliceKinds(&e.Rules) {
			of := played{flow: s.FlowID, unit: s.UnitID, day: s.Started.String(), turns: s.Turns(), slices: s.Slices}
			sliced[kind.by] = sliced[kind.by] || kind.value(&of) != ""
		}
		states.add(s, e.Measuring.Side, e.Measuring.similarity(e.Replayer.Mode))
		j := &job{done: make(chan struct{})}
		if j.resultOf.Pair, err = former(s.ID); err != nil {
			return err
		}
		if j.resultOf.Pair != nil { // a former run has replayed it
			close(j.done)
			crew.Pass(s)
		} else if err := crew.Begin(ctx, s, j.ended(finished)); err != nil {
			return err
		}
		select {
		case ordered <- j:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for _, field := range e.Rules.Slices {
		if known > 0 && !sliced[field] {
			return source.Invalid("--slice %s: no session has this field in its context or metadata", field)
		}
	}
	if e.Known != nil {
		e.Known(known)
	}
	return nil
}

// ended returns what is told of the end of a session.
func (j *job) ended(finished chan<- PairResult) func(PairResult) {
	return func(h PairResult) {
		j.resultOf = PairResult{Pair: h.Pair, Err: h.Err} // what is kept need not wait for its turn
		if h.Err == nil {
			finished <- h // it is taken even when the run is given up
		}
		close(j.done)
	}
}

// sample draws the sessions, nil for all of them: those with the least hash of seed and id, so the same ones everywhere
// (X44).
func (e *Evaluation) sample(ctx context.Context) (map[string]bool, error) {
	if e.SampleSize <= 0 {
		return nil, nil
	}
	sample := stats.NewSample(Seed, e.SampleSize)
	for s, err := range e.chosen(ctx, &LogToFigures{}, &Faults{}) {
		if err != nil {
			return nil, err
		}
		sample.Add(s.ID)
	}
	chosen := map[string]bool{}
	for _, id := range sample.IDs() {
		chosen[id] = true
	}
	return chosen, nil
}

// former returns what finds the pairs of the run that is resumed, asked for in the order of their ids.
func (e *Evaluation) former(ctx context.Context) (find func(id string) (*Pair, error), stop func()) {
	if e.Runs == nil || !e.Resumed {
		return func(string) (*Pair, error) { return nil, nil }, func() {}
	}
	next, stop := iter.Pull2(e.Runs.Outcomes(ctx, e.Head.Run.ID))
	kept, err, more := next()
	return func(id string) (*Pair, error) {
		for more && err == nil && kept.SessionID < id {
			kept, err, more = next()
		}
		if err != nil || !more || kept.SessionID != id {
			return nil, err
		}
		pair, err := kept.Pair()
		if err == nil && e.Logged != nil && !e.Logged(id) {
			err = e.Store([]PairResult{{Pair: pair, Outcome: Outcome{
				SessionID: id, Dropped: kept.Dropped, Records: e.Replayer.Checks.stored(pair, &kept),
			}}})
		}
		return pair, err
	}, stop
}
