package orchestrator_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/run/orchestrator"
	"github.com/rehearse-dev/rehearse/internal/run/queue"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

var morning = time.Date(2026, 1, 2, 8, 0, 0, 0, time.UTC)

// paid is the record of a trial that costs more than the one before. The second one began first.
func paid(j orchestrator.Task) *result.Test {
	n := j.Trial
	return &result.Test{
		TestID: j.Test.ID, Trial: n, Verdict: result.Fail, Score: 0.25, GradedScore: new(0.25),
		Failures:  []result.Failure{{Code: result.FactDrift, Source: "memory", Message: fmt.Sprint("trial ", n)}},
		StartedAt: morning.Add(time.Duration(1+(n+1)%3) * time.Minute), DurationMS: float64(100 * n),
		Cost: chat.Cost{USD: float64(n) / 4}, Usage: chat.Usage{InputTokens: 10 * n, OutputTokens: n},
		Judge: result.JudgeUse{
			Calls: n, CacheHits: 1, Usage: chat.Usage{InputTokens: 7 * n, OutputTokens: 1},
			Cost: chat.Cost{USD: float64(n) / 8},
		},
	}
}

// TestTrialSums holds that a test over trials has taken what all of its trials took, whether they were held now or in
// an earlier run.
func TestTrialSums(t *testing.T) {
	want := &result.Test{
		StartedAt: morning.Add(time.Minute), DurationMS: 600, Cost: chat.Cost{USD: 1.5},
		Usage: chat.Usage{InputTokens: 60, OutputTokens: 6}, Judge: result.JudgeUse{
			Calls: 6, CacheHits: 3, Usage: chat.Usage{InputTokens: 42, OutputTokens: 3}, Cost: chat.Cost{USD: 0.75},
		},
	}
	for _, strategy := range []suite.Strategy{suite.PassAtK, suite.PassAll} {
		for _, earlier := range [][]int{nil, {1}, {1, 2}, {2, 3}, {1, 2, 3}} {
			if strategy == suite.PassAtK && slices.Equal(earlier, []int{2, 3}) {
				continue // it begins a trial when the one before has ended
			}
			l := &ledger{}
			o := made(t, orchestrator.Config{
				Workers: 1, Queue: queue.NewMemory(1), Results: l,
				Run: func(_ context.Context, j orchestrator.Task) (*result.Test, error) {
					return paid(j), nil
				},
			})
			x := trials("x", 3, strategy)
			_, err := o.Run(t.Context(), orchestrator.Plan{
				Tests: units(x), Prior: func(k result.Key) (orchestrator.Outcome, bool) {
					return orchestrator.OutcomeOf(paid(orchestrator.Task{Test: x, Trial: k.Trial})),
						slices.Contains(earlier, k.Trial)
				},
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			sum := l.records[len(l.records)-1]
			got := &result.Test{
				StartedAt: sum.StartedAt, DurationMS: sum.DurationMS, Cost: sum.Cost, Usage: sum.Usage,
				Judge: sum.Judge,
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-12)); diff != "" {
				t.Errorf("%s, of an earlier run %v (-want +got):\n%s", strategy, earlier, diff)
			}
			if len(sum.Failures) != 1 || sum.Failures[0].Code != result.FactDrift || sum.Trials.Count != 3 {
				t.Errorf("%s, of an earlier run %v: %d trials, failures %v, want one of a code", strategy, earlier,
					sum.Trials.Count, sum.Failures)
			}
			if len(l.records) != 4-len(earlier) {
				t.Errorf("%s, of an earlier run %v: %v", strategy, earlier, l.brief())
			}
		}
	}
}

// TestTrialsInTheirOrder holds that an aggregate lists trials by their number, not as they ended.
func TestTrialsInTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &ledger{}
		o := made(t, orchestrator.Config{Workers: 3, Queue: queue.NewMemory(3), Results: l, Run: func(_ context.Context,
			j orchestrator.Task) (*result.Test, error) {
			time.Sleep(time.Hour / time.Duration(j.Trial))
			r := paid(j)
			r.Score = float64(j.Trial) / 4
			return r, nil
		}})
		if _, err := o.Run(t.Context(), orchestrator.Plan{
			Tests: units(trials("x", 3, suite.MeanScore)),
		}, nil); err != nil {
			t.Fatal(err)
		}
		sum := l.records[len(l.records)-1]
		if diff := cmp.Diff([]float64{0.25, 0.5, 0.75}, sum.Trials.Scores); diff != "" {
			t.Errorf("scores (-want +got):\n%s", diff)
		}
		if got := sum.Failures[0].Message; got != "trial 1" {
			t.Errorf("the failure of %s, want that of trial 1", got)
		}
	})
}

// TestBrokenTrials holds that a trial which could not be run makes the whole test an error, unless one pass is all that
// is asked for.
func TestBrokenTrials(t *testing.T) {
	const b, f = result.Error, result.Fail
	for _, tc := range []struct {
		strategy suite.Strategy
		of       map[string]result.Verdict
		want     result.Verdict
		status   result.Status
	}{
		{suite.PassAtK, map[string]result.Verdict{"x#1": b}, result.Pass, result.OK},
		{suite.PassAtK, map[string]result.Verdict{"x#1": b, "x#2": f}, result.Error, result.ExecutionError},
		{suite.PassAtK, map[string]result.Verdict{"x#1": f, "x#2": f}, result.Fail, result.QualityFailure},
		{suite.PassAll, map[string]result.Verdict{"x#1": b}, result.Error, result.ExecutionError},
		{suite.PassAll, map[string]result.Verdict{"x#1": b, "x#2": f}, result.Error, result.ExecutionError},
		{suite.PassAll, map[string]result.Verdict{"x#2": f}, result.Fail, result.QualityFailure},
		{suite.MeanScore, map[string]result.Verdict{"x#2": b}, result.Error, result.ExecutionError},
		{suite.ConfidenceInterval, map[string]result.Verdict{"x#1": b}, result.Error, result.ExecutionError},
	} {
		l := &ledger{}
		o := made(t, orchestrator.Config{Workers: 1, Queue: queue.NewMemory(1), Results: l, Run: verdicts(tc.of)})
		x := trials("x", 2, tc.strategy)
		x.Execution.Threshold = new(0.1) // which the scores reach, broken or not
		if _, err := o.Run(t.Context(), orchestrator.Plan{Tests: units(x)}, nil); err != nil {
			t.Fatal(err)
		}
		if sum := l.records[len(l.records)-1]; sum.Verdict != tc.want || sum.ExecutionStatus != tc.status {
			t.Errorf("%s %v: %s %s, want %s %s", tc.strategy, tc.of, sum.Verdict, sum.ExecutionStatus, tc.want,
				tc.status)
		}
	}
}

// TestTrialsMeetTheThreshold holds that a mean of trials which reaches the threshold but for rounding is enough.
func TestTrialsMeetTheThreshold(t *testing.T) {
	for _, tc := range []struct {
		threshold float64
		want      result.Verdict
	}{
		{0.25, result.Pass},
		{0.25 + 1e-10, result.Pass},
		{0.25 + 2e-9, result.Fail},
		{0, result.Pass},
		{0.3, result.Fail},
	} {
		l := &ledger{}
		o := made(t, orchestrator.Config{
			Workers: 1, Queue: queue.NewMemory(1), Results: l,
			Run: verdicts(map[string]result.Verdict{"x#1": result.Fail, "x#2": result.Fail}),
		})
		x := trials("x", 2, suite.MeanScore)
		x.Execution.Threshold = &tc.threshold
		if _, err := o.Run(t.Context(), orchestrator.Plan{Tests: units(x)}, nil); err != nil {
			t.Fatal(err)
		}
		if sum := l.records[2]; sum.Verdict != tc.want {
			t.Errorf("a mean of 0.25 at the threshold %v: %s, want %s", tc.threshold, sum.Verdict, tc.want)
		}
	}
}

// TestWaitingForever holds that a run ends, and says so, when tests wait for others that the plan does not have.
func TestWaitingForever(t *testing.T) {
	l := &ledger{}
	o := made(t, orchestrator.Config{Workers: 2, Queue: queue.NewMemory(2), Results: l, Run: verdicts(nil)})
	_, err := o.Run(t.Context(), orchestrator.Plan{
		Tests: units(test("b", "nowhere"), test("a"), test("c", "b")), Needed: always,
	}, nil)
	if err == nil || !strings.Contains(err.Error(), "2 tests wait for tests that never ran, b first") ||
		errors.Is(err, orchestrator.ErrStopped) {
		t.Errorf("Run = %v", err)
	}
	if diff := cmp.Diff([]string{"a pass"}, l.brief()); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

// TestFaultOfHolding holds that a conversation which cannot be held ends the run with its error, and every record names
// the run.
func TestFaultOfHolding(t *testing.T) {
	fault, l := errors.New("no such grader"), &ledger{}
	o := made(t, orchestrator.Config{
		RunID: "run-1", Workers: 1, Queue: queue.NewMemory(1), Results: l,
		Run: func(ctx context.Context, j orchestrator.Task) (*result.Test, error) {
			if j.Test.ID == "c" {
				return nil, fault
			}
			return verdicts(map[string]result.Verdict{"a": result.Error})(ctx, j)
		},
	})
	_, err := o.Run(t.Context(), orchestrator.Plan{
		Tests: units(test("a"), test("b", "a"), trials("x", 1, suite.PassAll), test("c"), test("d")), Needed: always,
	}, nil)
	if !errors.Is(err, fault) || errors.Is(err, orchestrator.ErrStopped) {
		t.Errorf("Run = %v", err)
	}
	if diff := cmp.Diff([]string{"a error", "b skip", "x#1 pass", "x 1/1 1.00 pass"}, l.brief()); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	for _, r := range l.records {
		if r.RunID != "run-1" {
			t.Errorf("%s is of the run %q", r.TestID, r.RunID)
		}
	}
}

// TestStoppedWhileTestsWait holds that a run which was stopped says so, and not that tests wait.
func TestStoppedWhileTestsWait(t *testing.T) {
	stop := make(chan struct{})
	o := made(t, orchestrator.Config{
		Workers: 1, Queue: queue.NewMemory(1), Results: &ledger{},
		Run: func(context.Context, orchestrator.Task) (*result.Test, error) {
			close(stop)
			return nil, context.Canceled
		},
	})
	_, err := o.Run(t.Context(), orchestrator.Plan{Tests: units(test("b", "a"), test("a")), Needed: always}, stop)
	if !errors.Is(err, orchestrator.ErrStopped) {
		t.Errorf("Run = %v, want ErrStopped", err)
	}
}

// TestTrialsStopAtTheirCostLimit holds that no further trial of a test begins once its trials have cost the limit.
func TestTrialsStopAtTheirCostLimit(t *testing.T) {
	for _, strategy := range []suite.Strategy{suite.PassAtK, suite.PassAll, suite.MeanScore} {
		for limit, want := range map[float64]int{0: 4, 0.2: 1, 0.25: 1, 0.26: 2, 0.75: 2, 1.4: 3, 100: 4} {
			l := &ledger{}
			o := made(t, orchestrator.Config{
				Workers: 4, Queue: queue.NewMemory(4), Results: l,
				Run: func(_ context.Context, j orchestrator.Task) (*result.Test, error) {
					return paid(j), nil
				},
			})
			x := trials("x", 4, strategy)
			x.Execution.Trials.CostLimitUSD = limit
			if _, err := o.Run(t.Context(), orchestrator.Plan{Tests: units(x)}, nil); err != nil {
				t.Fatal(err)
			}
			sum := l.records[len(l.records)-1]
			if len(l.records) != want+1 || sum.Trials == nil || sum.Trials.Count != want {
				t.Errorf("%s, limit %v: %d records, %+v, want %d trials", strategy, limit, len(l.records),
					sum.Trials, want)
			}
		}
	}
}
