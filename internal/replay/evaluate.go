package replay

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"golang.org/x/sync/errgroup"

	"rehearse/internal/stats"
)

// Evaluation replays the sessions of a flow and reports what came of it.
type Evaluation struct {
	Events Events
	// Runs keeps the run and its sessions as they are finished; nil keeps nothing.
	Runs Runs
	// From and To bound the events, To being excluded.
	From, To time.Time
	// MinTurns is the least number of the user's messages. SampleSize is how many sessions are drawn; 0 means all.
	MinTurns, SampleSize int
	Side                 Side
	Replayer             *Replayer
	// Workers is how many sessions are replayed at once, at least 1.
	Workers int
	// Head is the report as far as it is known before: run, variants, days.
	Head  Report
	Rules Rules
	// Resumed is true when the run goes on: sessions that are kept are not replayed again.
	Resumed bool
	// Each gets every pair in the order of the sessions' ids; nil is allowed.
	Each func(*Pair) error
	// Progress is told now and then how many sessions are done, from one goroutine at a time; nil is allowed.
	Progress func(done int)
	Now      func() time.Time
}

// ErrNoSessions says that there is nothing to replay.
var ErrNoSessions = errors.New("there is no session to replay")

// ErrNothingReplayed says that every session was dropped.
var ErrNothingReplayed = errors.New("no session could be replayed")

// Evaluate runs the evaluation. Whatever happens, the run's row says how it ended, as far as the store can be reached, and the sessions that
// were finished are kept. The report comes with ErrNothingReplayed, too.
func (e *Evaluation) Evaluate(ctx context.Context) (*Report, error) {
	run := &e.Head.Run
	run.Status, run.Started, run.Seen = Running, e.Now(), e.Now()
	if err := e.putRun(ctx, *run); err != nil {
		return nil, err
	}
	tally := &Tally{}
	err := e.replayAll(ctx, tally)
	var report *Report
	if err == nil {
		report, err = tally.Report(e.Head, e.Rules)
	}
	if err == nil && report.Run.Sessions == 0 {
		err = ErrNothingReplayed
		if report.Run.PairsDropped == 0 {
			report, err = nil, ErrNoSessions
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

// job is one session on its way: sent to a worker, and to the collector, which takes jobs in the order of the sessions.
type job struct {
	session *Session
	pair    *Pair
	done    chan struct{}
}

// replayAll replays the sessions side by side and takes them in order, so that the report does not depend on who was faster.
func (e *Evaluation) replayAll(ctx context.Context, tally *Tally) error {
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	workers := max(e.Workers, 1)
	work, ordered := make(chan *job), make(chan *job, 8*workers)
	finished := make(chan Outcome, outcomesPerBatch)
	var faults Faults
	kept := make(chan error, 1)
	go func() { kept <- e.keep(ctx, finished, giveUp) }()
	group, playing := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer close(work)
		defer close(ordered)
		return e.send(playing, &faults, work, ordered)
	})
	for range workers {
		group.Go(func() error {
			for j := range work {
				if err := e.play(playing, j, finished); err != nil {
					return err
				}
			}
			return nil
		})
	}
	group.Go(func() error { return e.collect(playing, ordered, tally) })
	err := group.Wait()
	close(finished)
	e.Head.Notes = append(e.Head.Notes, faults.Notes()...)
	if failed := <-kept; failed != nil {
		return failed
	}
	return err
}

// send makes jobs of the sessions.
func (e *Evaluation) send(ctx context.Context, faults *Faults, work, ordered chan<- *job) error {
	if err := faults.countUnusable(ctx, e.Events, e.filter()); err != nil {
		return err
	}
	chosen, err := e.sample(ctx)
	if err != nil {
		return err
	}
	former, stop := e.former(ctx)
	defer stop()
	for s, err := range e.sessions(ctx, faults) {
		if err != nil {
			return err
		}
		if s.Turns() < e.MinTurns || chosen != nil && !chosen[s.ID] {
			continue
		}
		j := &job{session: s, done: make(chan struct{})}
		if j.pair, err = former(s.ID); err != nil {
			return err
		}
		if j.pair != nil { // a former run has replayed it
			close(j.done)
		} else {
			select {
			case work <- j:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		select {
		case ordered <- j:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (e *Evaluation) filter() Filter {
	return Filter{FlowID: e.Head.Run.FlowID, From: e.From, To: e.To, Types: []string{Started, Message, Completed, DroppedOff}}
}

func (e *Evaluation) sessions(ctx context.Context, faults *Faults) iter.Seq2[*Session, error] {
	return Sessions(resumingIterator(ctx, e.Events, e.filter()), faults)
}

// sample draws the sessions, nil for all of them: those with the least hash of seed and id, so the same ones everywhere (X44).
func (e *Evaluation) sample(ctx context.Context) (map[string]bool, error) {
	if e.SampleSize <= 0 {
		return nil, nil
	}
	sample := stats.NewSample(Seed, e.SampleSize)
	for s, err := range e.sessions(ctx, &Faults{}) {
		if err != nil {
			return nil, err
		}
		if s.Turns() >= e.MinTurns {
			sample.Add(s.ID)
		}
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
		return kept.pair()
	}, stop
}

// play replays a session and measures it.
func (e *Evaluation) play(ctx context.Context, j *job, finished chan<- Outcome) (err error) {
	if j.pair, err = e.Replayer.Replay(ctx, j.session); err != nil {
		return err
	}
	Measure(j.session, j.pair, e.Side)
	j.session = nil
	outcome, err := boundedOutcome(j.pair)
	if err != nil {
		return fmt.Errorf("session %s: %w", j.pair.SessionID, err)
	}
	if e.Runs != nil {
		finished <- outcome // it is taken even when the run is given up
	}
	close(j.done)
	return nil
}
