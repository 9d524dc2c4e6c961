package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sort"
	"sync"

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
	ready []ready
	units map[result.Key]*unit
	// waiting are units with dependencies that have not ended; ended has the outcomes that dependents need.
	waiting []*unit
	ended   map[result.Key]Outcome
	// under are the conversations under way, early what workers of an earlier leader have returned for jobs that this one has not pushed yet.
	under tasks
	early map[result.Key]Return
	// wrote are the conversations that have a record, where workers elsewhere may return one twice.
	wrote map[result.Key]bool
	// batch are records to be kept, settle is what to call then.
	batch  []*result.Test
	settle []func()
	// read is true when the plan has no more tests.
	read bool
	// rejudged gets the tests whose transcripts were judged again; open counts those that are judged.
	rejudged  chan *frozen
	open      int
	rejudging sync.WaitGroup
	// ends counts the units that have ended, seen is its value at the last look at waiting: another look is useful only when they differ.
	ends, seen int
}

// ready is a conversation that may start, or with frozen the trials of a test that are to be judged again.
type ready struct {
	Task
	cost     float64
	commands bool
	frozen   *frozen
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
func (s *scheduler) guarded(ctx context.Context, done <-chan Return, stop <-chan struct{}) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = runner.Panicked(s.Log, r)
		}
	}()
	return s.run(ctx, done, stop)
}

func (s *scheduler) run(ctx context.Context, done <-chan Return, stop <-chan struct{}) (stopped error) {
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
		if err := s.flush(); err != nil && stopped == nil { // tests that were skipped
			stopped = err
		}
		if s.inFlight() == 0 {
			return s.ending(next, stopped)
		}
		var err error
		select {
		case r := <-done:
			if r.Err != nil && r.Record == nil && s.Returns != nil {
				return s.cut(ctx, next, cmp.Or(stopped, r.Err))
			}
			if err = s.finish(ctx, r); err == nil {
				err = s.finishMore(ctx, done)
			}
		case f := <-s.rejudged:
			s.open--
			if err = s.aggregated(f.unit); err == nil {
				err = s.releaseWaiting()
			}
		case <-stop:
			stop, stopped = nil, cmp.Or(stopped, ErrStopped)
		}
		if err = cmp.Or(err, s.flush()); stopped == nil {
			stopped = err
		}
	}
}

// together is how many records are kept at once at most.
const together = 256

// finishMore finishes what has come meanwhile, so that its records are kept together.
func (s *scheduler) finishMore(ctx context.Context, done <-chan Return) error {
	for len(done) > 0 && len(s.batch) < together {
		r := <-done
		if r.Err != nil && r.Record == nil && s.Returns != nil {
			return r.Err
		}
		if err := s.finish(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// cut ends a run whose returns have ended: what workers elsewhere still hold is not waited for.
func (s *scheduler) cut(ctx context.Context, next func() (Unit, error, bool), stopped error) error {
	if ctx.Err() != nil {
		stopped = ErrStopped
	}
	for s.open > 0 {
		f := <-s.rejudged
		s.open--
		if err := s.aggregated(f.unit); err != nil {
			return err
		}
	}
	return s.ending(next, stopped)
}

// inFlight counts what is under way.
func (s *scheduler) inFlight() int { return s.under.len() + s.open }

// sight is how many conversations are looked at for the costliest to begin with. It bounds what a run keeps in memory.
const sight = 1000

// feed pushes jobs until every worker has one or nothing more may start now.
func (s *scheduler) feed(ctx context.Context, next func() (Unit, error, bool)) error {
	for s.inFlight() < s.Workers {
		if err := s.look(next); err != nil || len(s.ready) == 0 {
			return err
		}
		if spent := s.spent(); s.plan.BudgetUSD > 0 && spent >= s.plan.BudgetUSD {
			return fmt.Errorf("%w: $%.4f of $%.4f", ErrBudget, spent, s.plan.BudgetUSD)
		}
		if err := s.begin(ctx, s.ready[0]); err != nil {
			return err
		}
		s.ready = s.ready[1:]
		s.observe()
	}
	return nil
}

// look admits tests until enough are ready to choose from. A single worker takes them as they are written, so one is enough.
func (s *scheduler) look(next func() (Unit, error, bool)) error {
	wanted := 1
	if s.Workers > 1 {
		wanted = sight
	}
	for len(s.ready) < wanted && !s.read {
		u, err, ok := next()
		if err != nil {
			return err
		}
		if !ok {
			s.read = true
			break
		}
		if err := s.admit(u); err != nil {
			return err
		}
		if err := s.releaseWaiting(); err != nil {
			return err
		}
	}
	return nil
}

// add makes a conversation ready: behind those that cost as much or more, with a single worker behind all.
func (s *scheduler) add(r ready) {
	at := len(s.ready)
	if s.Workers > 1 {
		at = sort.Search(len(s.ready), func(i int) bool { return s.ready[i].cost < r.cost })
	}
	s.ready = slices.Insert(s.ready, at, r)
}

// begin has a conversation held, or the trials of a test judged again.
func (s *scheduler) begin(ctx context.Context, r ready) error {
	if r.frozen != nil {
		s.open++
		s.rejudging.Go(func() {
			s.rejudge(ctx, r.Task, r.frozen)
			s.rejudged <- r.frozen // never blocks: no more than workers are under way
		})
		return nil
	}
	s.under.put(r.Task)
	if early, ok := s.early[r.Key()]; ok {
		delete(s.early, r.Key())
		return s.finish(ctx, early)
	}
	return s.push(ctx, r)
}

// push puts a conversation into the queue.
func (s *scheduler) push(ctx context.Context, r ready) error {
	err := s.Queue.Push(ctx, Job{
		Schema: JobSchema, Run: s.RunID, Kind: s.Kind, Key: r.Key(), Cost: r.cost, Commands: r.commands, Payload: s.Payload,
	})
	if err == nil {
		return nil
	}
	s.under.take(r.Key())
	if ctx.Err() != nil {
		return ErrStopped
	}
	return err
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
	if err := s.flush(); err != nil && stopped == nil {
		return err
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
	for _, r := range held {
		if r.frozen == nil {
			s.ready = append(s.ready, r)
			continue
		}
		r.frozen.unknown = stoppedRejudging
		if err := s.aggregated(r.frozen.unit); err != nil {
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
		s.units[n.key] = n
		s.add(n.ready(0))
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
	r := n.ready(n.issued)
	if s.plan.Prior != nil {
		if outcome, ok := s.plan.Prior(r.Key()); ok {
			return s.trialEnded(n, &result.Test{
				Trial: r.Trial, Verdict: outcome.Verdict, ExecutionStatus: outcome.Status, Score: outcome.Score, Failures: outcome.Failures, StartedAt: outcome.StartedAt,
				Usage: outcome.Usage, Cost: outcome.Cost, DurationMS: outcome.DurationMS, Judge: outcome.Judge, User: outcome.User,
			})
		}
	}
	s.add(r)
	return nil
}

// ready returns a conversation of the unit.
func (n *unit) ready(trial int) ready {
	return ready{Task: Task{Test: n.Test, Target: n.Target, Trial: trial}, cost: n.Cost, commands: n.Commands}
}

// finish writes a conversation's record and updates its unit.
func (s *scheduler) finish(ctx context.Context, r Return) error {
	task, ok := s.under.take(r.Key)
	if !ok {
		s.stray(r)
		return nil
	}
	n := s.units[task.whole()]
	switch {
	case r.Lost:
		again := n.ready(task.Trial)
		s.under.put(task)
		return s.push(ctx, again)
	case r.Record == nil && r.Fault != "":
		r.Record = Broken(task, s.Now(), r.Fault)
	case r.Record == nil:
		if r.Err == nil || ctx.Err() != nil || errors.Is(r.Err, context.Canceled) {
			return ErrStopped
		}
		return r.Err
	}
	r.Record.Target = task.Target
	s.write(r.Record)
	if s.Returns != nil {
		s.wrote[r.Key] = true
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

// stray keeps the return of a job that is not under way: one that an earlier leader has pushed comes before its turn, and one that has ended
// was held twice, which changes nothing.
func (s *scheduler) stray(r Return) {
	_, before := s.early[r.Key]
	if s.plan.Prior != nil && !before {
		_, before = s.plan.Prior(r.Key)
	}
	if r.Record == nil || s.wrote[r.Key] || before {
		if r.Settle != nil {
			r.Settle()
		}
		return
	}
	if len(s.early) < max(sight, s.Workers) { // else it is delivered again
		s.early[r.Key] = r
	}
}

// whole returns the key of the task's test, whatever its trial.
func (t Task) whole() result.Key {
	return result.Key{Suite: t.Test.Suite, TestID: t.Test.ID, Target: t.Target}
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
		n.frozen = &frozen{unit: n, trials: n.trials, again: map[int][]result.Verdict{}}
		r := n.ready(0)
		r.frozen = n.frozen
		s.add(r)
		return nil
	}
	return s.aggregated(n)
}

// aggregated ends a test with the aggregate of its trials.
func (s *scheduler) aggregated(n *unit) error {
	sum := aggregate(n, s.Now(), s.Rejudge != nil)
	s.write(sum)
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
	t := unheld(Task{Test: n.Test, Target: n.Target}, s.Now())
	t.Verdict, t.ExecutionStatus = result.Skip, outcome.Status
	t.SkipReason = fmt.Sprintf("it depends on %s, which %s", id, became(outcome.Verdict))
	s.write(t)
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

// write puts a record among those that flush keeps.
func (s *scheduler) write(t *result.Test) {
	t.RunID = s.RunID
	s.tally.Add(t)
	s.batch = append(s.batch, t)
}

// flush keeps the records that have come, and settles their returns.
func (s *scheduler) flush() error {
	if len(s.batch) == 0 {
		return nil
	}
	batch := s.batch
	s.batch = nil
	if err := s.Results.Append(batch...); err != nil {
		return fmt.Errorf("write the result of %s: %w", batch[0].TestID, err)
	}
	for _, settle := range s.settle {
		settle()
	}
	s.settle = nil
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
	s.Observe(Progress{Totals: s.tally.Totals(), InFlight: s.inFlight()})
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
