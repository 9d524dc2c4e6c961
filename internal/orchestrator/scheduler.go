package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"rehearse/internal/chat"
	"rehearse/internal/result"
	"rehearse/internal/runner"
	"rehearse/internal/suite"
)

// ErrStopped says that a run was stopped before all of its tests had run.
var ErrStopped = errors.New("the run was stopped")

// scheduler decides what runs next. It is used by one goroutine; workers talk to it through a channel.
type scheduler struct {
	Config
	plan  Plan
	tally result.Tally
	// ready are jobs that may start, units are tests whose trials are under way.
	ready []Job
	units map[result.Key]*unit
	// waiting are units with dependencies that have not ended; ended has the outcomes that dependents need.
	waiting  []*unit
	ended    map[result.Key]Outcome
	inFlight int
	// ends counts the units that have ended, seen is its value at the last look at waiting: another look is useful only when they differ.
	ends, seen int
}

// unit is one test with one target while its conversations are under way.
type unit struct {
	Unit
	key    result.Key
	issued int
	trials []*result.Test
	// frozen are the trials as they are judged again; nil when they are not.
	frozen *frozen
}

// guarded runs the plan and turns a panic of the plan or of the results into an error.
func (s *scheduler) guarded(ctx context.Context, done <-chan finished, stop <-chan struct{}) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = runner.Panicked(s.Log, r)
		}
	}()
	return s.run(ctx, done, stop)
}

func (s *scheduler) run(ctx context.Context, done <-chan finished, stop <-chan struct{}) (stopped error) {
	next, release := iter.Pull2(s.plan.Tests)
	defer release()
	for {
		select {
		case <-stop: // also where a conversation has ended at the same time
			stop, stopped = nil, cmp.Or(stopped, ErrStopped)
		default:
		}
		if stopped == nil {
			stopped = s.feed(ctx, next)
		}
		if s.inFlight == 0 {
			return s.ending(next, stopped)
		}
		select {
		case f := <-done:
			s.inFlight--
			if err := s.finish(ctx, f); err != nil && stopped == nil {
				stopped = err
			}
		case <-stop:
			stop, stopped = nil, cmp.Or(stopped, ErrStopped)
		}
	}
}

// feed pushes jobs until every worker has one or nothing more may start now.
func (s *scheduler) feed(ctx context.Context, next func() (Unit, error, bool)) error {
	for s.inFlight < s.Workers {
		if len(s.ready) == 0 {
			u, err, ok := next()
			if err != nil || !ok {
				return err
			}
			if err := s.admit(u); err != nil {
				return err
			}
			if err := s.releaseWaiting(); err != nil {
				return err
			}
			continue
		}
		if spent := s.spent(); s.plan.BudgetUSD > 0 && spent >= s.plan.BudgetUSD {
			return fmt.Errorf("%w: $%.4f of $%.4f", ErrBudget, spent, s.plan.BudgetUSD)
		}
		if err := s.Queue.Push(ctx, s.ready[0]); err != nil {
			if ctx.Err() != nil {
				return ErrStopped
			}
			return err
		}
		s.ready = s.ready[1:]
		s.inFlight++
		s.observe()
	}
	return nil
}

// spent returns the known cost so far, in US dollars.
func (s *scheduler) spent() float64 {
	totals := s.tally.Totals()
	if s.plan.Regraded {
		return s.plan.SpentUSD + totals.Judge.Cost.USD
	}
	return s.plan.SpentUSD + totals.Cost.USD + totals.User.Spent().USD
}

// ending returns why the run is over, nil when it is complete. A run that was stopped when nothing was left to run is complete.
func (s *scheduler) ending(next func() (Unit, error, bool), stopped error) error {
	if stopped != nil {
		if err := s.giveUpRejudging(); err != nil {
			return err
		}
	}
	if errors.Is(stopped, ErrStopped) {
		left, err := s.left(next)
		if err != nil {
			return err
		}
		if !left {
			stopped = nil
		}
	}
	if stopped == nil && len(s.waiting) > 0 {
		return fmt.Errorf("%s for tests that never ran, %s first", waits(len(s.waiting)), s.waiting[0].Test.ID)
	}
	return stopped
}

// giveUpRejudging ends the tests whose trials were to be judged again: all of them were held.
func (s *scheduler) giveUpRejudging() error {
	held := s.ready
	s.ready = nil
	for _, j := range held {
		if j.frozen == nil {
			s.ready = append(s.ready, j)
			continue
		}
		j.frozen.unknown = stoppedRejudging
		if err := s.aggregated(s.units[result.Key{Suite: j.Test.Suite, TestID: j.Test.ID, Target: j.Target}]); err != nil {
			return err
		}
	}
	return s.releaseWaiting()
}

func waits(n int) string {
	if n == 1 {
		return "1 test waits"
	}
	return fmt.Sprintf("%d tests wait", n)
}

// left reports whether a conversation is left to hold. Tests whose records exist, and those to be skipped, are finished on the way.
func (s *scheduler) left(next func() (Unit, error, bool)) (bool, error) {
	for len(s.ready) == 0 && len(s.units) == 0 {
		u, err, ok := next()
		if err != nil {
			return false, err
		}
		if !ok {
			return len(s.waiting) > 0, nil
		}
		if err := s.admit(u); err != nil {
			return false, err
		}
		if err := s.releaseWaiting(); err != nil {
			return false, err
		}
	}
	return true, nil
}

// admit starts a test, or puts it among the waiting ones.
func (s *scheduler) admit(u Unit) error {
	key := result.Key{Suite: u.Test.Suite, TestID: u.Test.ID, Target: u.Target}
	n := &unit{Unit: u, key: key}
	if s.plan.Prior != nil {
		if outcome, ok := s.plan.Prior(key); ok {
			s.end(n, outcome)
			return nil
		}
	}
	return s.start(n)
}

// start makes the unit's jobs ready if all of its dependencies have ended.
func (s *scheduler) start(n *unit) error {
	for _, id := range n.Test.DependsOn {
		outcome, ended := s.ended[result.Key{Suite: n.key.Suite, TestID: id, Target: n.key.Target}]
		if !ended {
			s.waiting = append(s.waiting, n)
			return nil
		}
		if heldBack(n.Test.OnDependencyFailure, outcome) {
			return s.skip(n, id, outcome)
		}
	}
	if n.Test.Execution.Trials.Count == 0 {
		s.ready = append(s.ready, Job{Test: n.Test, Target: n.Target})
		s.units[n.key] = n
		return nil
	}
	s.units[n.key] = n
	first := n.Test.Execution.Trials.Count
	if s.oneByOne(n) {
		first = 1
	}
	for n.issued < first {
		if err := s.issueTrial(n); err != nil {
			return err
		}
	}
	return nil
}

func (n *unit) strategy() suite.Strategy {
	if s := n.Test.Execution.Trials.Strategy; s != "" {
		return s
	}
	return suite.PassAtK
}

// oneByOne reports whether each trial decides about the next one.
func (s *scheduler) oneByOne(n *unit) bool {
	return !s.plan.Regraded && (n.strategy() == suite.PassAtK || n.Test.Execution.Trials.CostLimitUSD > 0)
}

// wantsMore reports whether another trial is to be held behind the last one.
func (n *unit) wantsMore(last *result.Test) bool {
	t := n.Test.Execution.Trials
	cost := chat.Cost{}
	for _, trial := range n.trials {
		cost = cost.Add(trial.Cost)
	}
	spent := t.CostLimitUSD > 0 && cost.USD >= t.CostLimitUSD
	return n.issued < t.Count && !spent && (n.strategy() != suite.PassAtK || last.Verdict != result.Pass)
}

// issueTrial makes the unit's next trial ready, or takes its outcome from an earlier run.
func (s *scheduler) issueTrial(n *unit) error {
	n.issued++
	j := Job{Test: n.Test, Target: n.Target, Trial: n.issued}
	if s.plan.Prior != nil {
		if outcome, ok := s.plan.Prior(j.Key()); ok {
			return s.trialEnded(n, &result.Test{
				Trial: j.Trial, Verdict: outcome.Verdict, ExecutionStatus: outcome.Status, Score: outcome.Score, Failures: outcome.Failures, StartedAt: outcome.StartedAt,
				Usage: outcome.Usage, Cost: outcome.Cost, DurationMS: outcome.DurationMS, Judge: outcome.Judge, User: outcome.User,
			})
		}
	}
	s.ready = append(s.ready, j)
	return nil
}

// finish writes a conversation's record and updates its unit.
func (s *scheduler) finish(ctx context.Context, f finished) error {
	if f.job.frozen != nil {
		if err := s.aggregated(s.units[result.Key{Suite: f.job.Test.Suite, TestID: f.job.Test.ID, Target: f.job.Target}]); err != nil {
			return err
		}
		return s.releaseWaiting()
	}
	if f.record == nil {
		if f.err == nil || ctx.Err() != nil || errors.Is(f.err, context.Canceled) {
			return ErrStopped
		}
		return f.err
	}
	if err := s.write(f.record); err != nil {
		return err
	}
	n := s.units[result.Key{Suite: f.job.Test.Suite, TestID: f.job.Test.ID, Target: f.job.Target}]
	if f.job.Trial == 0 {
		s.end(n, OutcomeOf(f.record))
	} else if err := s.trialEnded(n, f.record); err != nil {
		return err
	}
	return s.releaseWaiting()
}

// trialEnded issues the next trials of a test, or ends the test with the aggregate of its trials.
func (s *scheduler) trialEnded(n *unit, record *result.Test) error {
	n.trials = append(n.trials, record)
	if s.oneByOne(n) && n.wantsMore(record) {
		return s.issueTrial(n)
	}
	if len(n.trials) < n.issued || !s.oneByOne(n) && len(n.trials) < n.Test.Execution.Trials.Count {
		return nil
	}
	if s.Rejudge != nil && wavers(n.trials) {
		slices.SortFunc(n.trials, byTrial)
		n.frozen = &frozen{trials: n.trials, again: map[int][]result.Verdict{}}
		s.ready = append(s.ready, Job{Test: n.Test, Target: n.Target, frozen: n.frozen})
		return nil
	}
	return s.aggregated(n)
}

// aggregated ends a test with the aggregate of its trials.
func (s *scheduler) aggregated(n *unit) error {
	sum := aggregate(n, s.Now(), s.Rejudge != nil)
	if err := s.write(sum); err != nil {
		return err
	}
	s.end(n, OutcomeOf(sum))
	return nil
}

// heldBack reports whether a test is skipped after a test that it depends on.
func heldBack(policy suite.OnDependencyFailure, o Outcome) bool {
	switch policy {
	case suite.RunAnyway:
		return false
	case suite.SkipUnlessPassed:
		return o.Verdict != result.Pass
	}
	return o.Verdict == result.Error || o.Verdict == result.Skip
}

// skip records that a test was not run because of a test that it depends on. It has the execution status of what held it back.
func (s *scheduler) skip(n *unit, id string, outcome Outcome) error {
	t := unheld(Job{Test: n.Test, Target: n.Target}, s.Now())
	t.Verdict, t.ExecutionStatus = result.Skip, outcome.Status
	t.SkipReason = fmt.Sprintf("it depends on %s, which %s", id, became(outcome.Verdict))
	if err := s.write(t); err != nil {
		return err
	}
	s.end(n, OutcomeOf(t))
	return nil
}

// became says in words how a dependency ended.
func became(v result.Verdict) string {
	switch v {
	case result.Error:
		return "could not be run or graded"
	case result.Skip:
		return "was skipped"
	}
	return "did not pass (on_dependency_failure: skip)"
}

func (s *scheduler) write(t *result.Test) error {
	t.RunID = s.RunID
	s.tally.Add(t)
	if err := s.Results.Append(t); err != nil {
		return fmt.Errorf("write the result of %s: %w", t.TestID, err)
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
			runner.Panicked(s.Log, r)
			s.Observe = nil
		}
	}()
	s.Observe(Progress{Totals: s.tally.Totals(), InFlight: s.inFlight})
}

// end forgets a unit and keeps its outcome if other tests need it.
func (s *scheduler) end(n *unit, o Outcome) {
	delete(s.units, n.key)
	s.ends++
	if s.plan.Needed != nil && s.plan.Needed(n.key.Suite, n.key.TestID) {
		s.ended[n.key] = o
	}
}

// releaseWaiting starts the units whose dependencies have all ended. A unit that is skipped may release others.
func (s *scheduler) releaseWaiting() error {
	for s.seen < s.ends {
		s.seen = s.ends
		held := s.waiting
		s.waiting = nil
		for _, n := range held {
			if err := s.start(n); err != nil {
				return err
			}
		}
	}
	return nil
}
