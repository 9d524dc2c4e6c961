package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

const (
	// together is how many records are kept at once at most.
	together = 256
	// crowd is how many returns of a fleet must come at once for a short wait for more: a write to a store costs about
	// as much as ten of its records.
	crowd     = 3
	crowdWait = 4 * time.Millisecond
)

// ended is the error of a fleet's returns that have ended: nothing more comes.
type ended struct{ error }

// finishAll finishes a return and what comes with it, so that their records are kept together. The error is of type
// ended where nothing more comes.
func (s *scheduler) finishAll(ctx context.Context, r Return, done <-chan Return) error {
	err := s.finish(ctx, r)
	if err == nil {
		err = s.finishWhatCame(ctx, done)
	}
	if err != nil || s.Returns == nil || len(s.batch) < crowd {
		return err
	}
	time.Sleep(crowdWait)
	return s.finishWhatCame(ctx, done)
}

func (s *scheduler) finishWhatCame(ctx context.Context, done <-chan Return) error {
	for len(done) > 0 && len(s.batch) < together {
		if err := s.finish(ctx, <-done); err != nil {
			return err
		}
	}
	return nil
}

// finish writes a conversation's record and updates its unit.
func (s *scheduler) finish(ctx context.Context, r Return) error {
	if r.Err != nil && r.Record == nil && s.Returns != nil {
		return ended{r.Err}
	}
	task, ok := s.under.take(r.Key)
	if !ok {
		s.stray(r)
		return nil
	}
	n := s.units[task.whole()]
	switch {
	case r.Lost && s.closing:
		return nil
	case r.Lost:
		again := n.ready(0)
		again.Task = task
		s.under.put(task)
		return s.push(ctx, again)
	case r.Record == nil && r.Fault != "":
		r.Record = Broken(task, s.Now(), r.Fault)
		r.Record.Attempts = r.Attempts
	case r.Record == nil:
		if r.Err == nil || ctx.Err() != nil || errors.Is(r.Err, context.Canceled) {
			return ErrStopped
		}
		return r.Err
	}
	r.Record.Target = task.Target
	s.write(r.Record)
	if s.Returns != nil {
		s.wrote[r.Key] = false
	}
	if r.Settle != nil {
		s.settle = append(s.settle, r.Settle)
	}
	if task.Trial == 0 {
		s.end(n, OutcomeOf(r.Record))
	} else if err := s.trialEnded(n, r.Record); err != nil {
		return err
	}
	return s.releaseWaiting()
}

// stray keeps the return of a job that is not under way: one that an earlier leader has pushed comes before its turn,
// and again for as long as it is not settled. One whose record is stored was held twice, which changes nothing.
func (s *scheduler) stray(r Return) {
	stored, wrote := s.wrote[r.Key]
	if s.plan.Prior != nil && !wrote {
		_, stored = s.plan.Prior(r.Key)
	}
	if r.Record == nil || stored {
		if r.Settle != nil {
			r.Settle()
		}
		return
	}
	if wrote {
		return
	}
	if _, held := s.early[r.Key]; held || len(s.early) < max(sight, s.Workers) { // else it is delivered again
		s.early[r.Key] = r
	}
}

// whole returns the key of the task's test, whatever its trial.
func (t Task) whole() result.Key {
	return result.Key{Suite: t.Test.Suite, TestID: t.Test.ID, Target: t.Target}
}

// write puts a record among those that flush keeps.
func (s *scheduler) write(t *result.Test) {
	t.RunID = s.RunID
	s.tally.Add(t)
	s.batch = append(s.batch, t)
}

// flush keeps the records that have come, and settles their returns. Those of records that could not be kept are never
// settled: they come again.
func (s *scheduler) flush() error {
	if len(s.batch) == 0 {
		return nil
	}
	batch, settle := s.batch, s.settle
	s.batch, s.settle = nil, nil
	if err := s.Results.Append(batch...); err != nil {
		for _, r := range batch {
			delete(s.wrote, r.Key())
		}
		return fmt.Errorf("write the result of %s: %w", batch[0].TestID, err)
	}
	for _, r := range batch {
		if _, ours := s.wrote[r.Key()]; ours {
			s.wrote[r.Key()] = true
		}
	}
	for _, done := range settle {
		done()
	}
	s.observe()
	return nil
}

// observe tells the observer. An observer that panics is not asked again: no result depends on it.
func (s *scheduler) observe() {
	if s.Observe == nil {
		return
	}
	defer func() {
		if r := recover(); r != nil {
			_ = runner.Panicked(s.Log, r) // it is in the log
			s.Observe = nil
		}
	}()
	s.Observe(Progress{Totals: s.tally.Totals(), InFlight: s.inFlight()})
}
