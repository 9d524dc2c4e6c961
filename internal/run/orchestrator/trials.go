package orchestrator

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/stats"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// aggregate returns the record of a test over its trials: the score by the strategy, and the stability. A trial that
// could not be run makes the test an execution error, unless the strategy needs one pass only and has it. One that its
// simulated user spoiled decides nothing: the test fails by the others, but does not pass by fewer than all. What the
// record lists does not depend on the order in which the trials ended. The test is flaky when the outcomes of the
// trials that could be graded differ. attributed says what varies, too.
func aggregate(n *unit, now time.Time, attributed bool) *result.Test {
	t := unheld(Task{Test: n.Test, Target: n.Target}, now)
	t.StartedAt = time.Time{}
	slices.SortFunc(n.trials, byTrial)
	sum := &result.Trials{Count: len(n.trials), Strategy: string(n.strategy()), Scores: []float64{}}
	broke, failed, spoiled := 0, 0, 0
	var gradedScores []float64
	for _, trial := range n.trials {
		if !trial.UserInvalid() {
			sum.Scores = append(sum.Scores, trial.Score)
		}
		if trial.GradedScore != nil {
			gradedScores = append(gradedScores, *trial.GradedScore)
		}
		switch trial.Verdict {
		case result.Pass:
			sum.Passed++
		case result.Fail:
			failed++
		case result.Ungraded:
		case result.Skip:
			spoiled++
			t.SkipReason = fmt.Sprintf("%d of %d trials: %s", spoiled, len(n.trials), trial.SkipReason)
		default:
			broke++
		}
		if trial.Verdict != result.Pass && trial.Verdict != result.Ungraded && !trial.UserInvalid() {
			t.Failures = addCodes(t.Failures, trial.Failures)
		}
		t.Usage = t.Usage.Add(trial.Usage)
		t.Cost = t.Cost.Add(trial.Cost)
		t.DurationMS += trial.DurationMS
		t.Judge = t.Judge.Add(trial.Judge)
		t.User = t.User.Add(trial.User)
		if t.StartedAt.IsZero() || trial.StartedAt.Before(t.StartedAt) {
			t.StartedAt = trial.StartedAt
		}
	}
	graded := sum.Passed + failed
	stability := stats.FlakinessOf(sum.Passed, graded)
	sum.Interval = stability.Interval
	if n.strategy() != suite.PassAtK { // which stops at the first pass: such trials are no sample
		sum.PassHatK, sum.PassAtK = stats.PassHatK(graded, sum.Passed), stats.PassAtK(graded, sum.Passed)
		if broke+spoiled == 0 || stability.Class == stats.Flaky { // a trial that is not known may have differed
			sum.Class = result.Class(stability.Class)
		}
	}
	t.Trials = sum
	if attributed {
		sum.Attribution = n.attribution()
	}
	if a := sum.Attribution; a != nil {
		t.Judge, t.Cost = t.Judge.Add(a.Use), t.Cost.Add(a.Use.Cost)
	}
	if len(sum.Scores) > 0 {
		t.Score = combine(n.strategy(), sum.Scores)
	}
	if len(gradedScores) > 0 {
		t.GradedScore = new(combine(n.strategy(), gradedScores))
	}
	rejected := failed > 0 && (n.Test.Execution.IsStrict() || n.strategy() == suite.PassAll)
	t.Verdict, t.ExecutionStatus = result.Decide(t.Score, t.GradedScore, t.Threshold, rejected)
	if n.strategy() == suite.PassAtK { // one trial decides: its score and graded score together
		t.Verdict, t.ExecutionStatus = result.Fail, result.QualityFailure
		switch {
		case sum.Passed > 0:
			t.Verdict, t.ExecutionStatus = result.Pass, result.OK
		case failed == 0:
			t.Verdict, t.ExecutionStatus = result.Ungraded, result.OK
		}
	}
	if broke > 0 && (n.strategy() != suite.PassAtK || sum.Passed == 0) {
		t.Score, t.GradedScore, t.Verdict, t.ExecutionStatus = 0, nil, result.Error, result.ExecutionError
	}
	switch {
	case spoiled == 0:
	case t.Verdict == result.Ungraded, t.Verdict == result.Pass && n.strategy() != suite.PassAtK,
		spoiled == len(n.trials):
		t.Score, t.GradedScore, t.Verdict, t.ExecutionStatus = 0, nil, result.Skip, result.OK
	default: // the other trials decide
		t.SkipReason = ""
	}
	if sum.Passed > 0 && failed > 0 {
		t.Failures = append(t.Failures, result.Failure{
			Code: result.Flaky, Source: "post-processing",
			Message: fmt.Sprintf("wanted the same verdict every time; got %d passes in %d trials%s", sum.Passed, graded,
				varies(sum.Attribution)),
		})
	}
	result.SortFailures(t.Failures)
	return t
}

// AggregateTrials returns the record of a test over trials that were run elsewhere.
func Aggregate(u Unit, trials []*result.Test, now time.Time) *result.Test {
	return aggregate(&unit{Unit: u, trials: trials}, now, false)
}

func byTrial(a, b *result.Test) int { return cmp.Compare(a.Trial, b.Trial) }

// addCodes adds a failure for each code that is not there yet: an aggregate says what can go wrong, not how often.
func addCodes(failures, more []result.Failure) []result.Failure {
	for _, f := range more {
		if !slices.ContainsFunc(failures, func(g result.Failure) bool { return g.Code == f.Code }) {
			failures = append(failures, f)
		}
	}
	return failures
}

// combine returns the score of trials by a strategy.
func combine(strategy suite.Strategy, scores []float64) float64 {
	switch strategy {
	case suite.PassAtK:
		return suite.Max.Of(scores)
	case suite.PassAll:
		return suite.Min.Of(scores)
	case suite.ConfidenceInterval:
		return stats.TLower(scores)
	}
	return suite.Mean.Of(scores)
}
