package orchestrator

import (
	"fmt"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// unit is one test with one target while its conversations are under way.
type unit struct {
	Unit
	key    result.Key
	cost   float64
	issued int
	trials []*result.Test
	// frozen are the trials as they are judged again; nil when they are not.
	frozen *frozen
}

// admit starts a test, or puts it among the waiting ones.
func (s *scheduler) admit(u Unit, cost float64) error {
	key := result.Key{Suite: u.Test.Suite, TestID: u.Test.ID, Target: u.Target}
	n := &unit{Unit: u, key: key, cost: cost}
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
		if skippedBy(n.Test.OnDependencyFailure, outcome) {
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
	return suite.MeanScore
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
				Trial: r.Trial, Verdict: outcome.Verdict, ExecutionStatus: outcome.Status, Score: outcome.Score,
				GradedScore: outcome.Graded, Failures: outcome.Failures, StartedAt: outcome.StartedAt,
				Usage: outcome.Usage, Cost: outcome.Cost, DurationMS: outcome.DurationMS, Judge: outcome.Judge,
				User: outcome.User,
			})
		}
	}
	s.add(r)
	return nil
}

// ready returns a conversation of the unit: its trial of that number, from 1, or 0 for a test without trials.
func (n *unit) ready(trial int) ready {
	if trial > 0 {
		trial += n.After
	}
	return ready{Task: Task{Test: n.Test, Target: n.Target, Trial: trial}, cost: n.cost, commands: n.Commands}
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

// skippedBy reports whether a test is skipped after a test that it depends on.
func skippedBy(policy suite.OnDependencyFailure, o Outcome) bool {
	switch policy {
	case suite.RunAnyway:
		return false
	case suite.SkipUnlessPassed:
		return o.Verdict != result.Pass
	}
	return o.Verdict == result.Error || o.Verdict == result.Skip
}

// skip records that a test was not run because of a test that it depends on. It has the execution status of what held
// it back.
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
	case result.Ungraded:
		return "grades nothing (on_dependency_failure: skip)"
	}
	return "did not pass (on_dependency_failure: skip)"
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
