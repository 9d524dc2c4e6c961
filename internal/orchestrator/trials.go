package orchestrator

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"rehearse/internal/result"
	"rehearse/internal/stats"
	"rehearse/internal/suite"
)

// aggregate returns the record of a test over its trials: the score by the strategy, and the stability.
// A trial that could not be run makes the test an execution error, unless the strategy needs one pass only and has it. What the record lists does
// not depend on the order in which the trials ended. The test is flaky when the outcomes of the trials that could be graded differ.
// attributed says what varies, too.
func aggregate(n *unit, now time.Time, attributed bool) *result.Test {
	t := unheld(Task{Test: n.Test, Target: n.Target}, now)
	t.StartedAt = time.Time{}
	slices.SortFunc(n.trials, byTrial)
	sum := &result.Trials{Count: len(n.trials), Strategy: string(n.strategy())}
	broke, failed := 0, 0
	for _, trial := range n.trials {
		sum.Scores = append(sum.Scores, trial.Score)
		switch trial.Verdict {
		case result.Pass:
			sum.Passed++
		case result.Fail:
			failed++
		default:
			broke++
		}
		if trial.Verdict != result.Pass {
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
	sum.PassHatK, sum.PassAtK = stats.PassHatK(graded, sum.Passed), stats.PassAtK(graded, sum.Passed)
	stability := stats.FlakinessOf(sum.Passed, graded)
	sum.Class, sum.Interval = stability.Class, stability.Interval
	t.Trials = sum
	if attributed {
		sum.Attribution = n.attribution()
	}
	if a := sum.Attribution; a != nil {
		t.Judge, t.Cost = t.Judge.Add(a.Use), t.Cost.Add(a.Use.Cost)
	}
	passed := false
	t.Score, passed = combine(n.strategy(), sum, t.Threshold)
	if n.Test.Execution.MustAllPass() && n.strategy() != suite.PassAtK {
		passed = passed && sum.Passed == sum.Count // a trial may fail whose score reaches the threshold
	}
	t.Verdict, t.ExecutionStatus = result.Fail, result.QualityFailure
	switch {
	case broke > 0 && (n.strategy() != suite.PassAtK || !passed):
		t.Score, t.Verdict, t.ExecutionStatus = 0, result.Error, result.ExecutionError
	case passed:
		t.Verdict, t.ExecutionStatus = result.Pass, result.OK
	}
	if sum.Passed > 0 && failed > 0 {
		t.Failures = append(t.Failures, result.Failure{
			Code: result.Flaky, Source: "post-processing",
			Message: fmt.Sprintf("wanted the same verdict every time; got %d passes in %d trials%s", sum.Passed, graded, varies(sum.Attribution)),
		})
	}
	result.SortFailures(t.Failures)
	return t
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

// combine returns the score by a strategy, and whether it passes.
func combine(strategy suite.Strategy, t *result.Trials, threshold float64) (score float64, passed bool) {
	switch strategy {
	case suite.PassAtK:
		return suite.Max.Of(t.Scores), t.Passed > 0
	case suite.PassAll:
		return suite.Min.Of(t.Scores), t.Passed == t.Count
	case suite.ConfidenceInterval:
		score = stats.TLower(t.Scores)
	default:
		score = suite.Mean.Of(t.Scores)
	}
	return score, score >= threshold-1e-9
}
