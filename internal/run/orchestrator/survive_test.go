package orchestrator_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/rehearse-dev/rehearse/internal/run/orchestrator"
	"github.com/rehearse-dev/rehearse/internal/run/queue"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

func TestNewNamesWhatIsMissing(t *testing.T) {
	hold := verdicts(nil)
	for want, c := range map[string]orchestrator.Config{
		"queue":   {Workers: 1, Run: hold, Results: &ledger{}},
		"holds":   {Workers: 1, Queue: queue.NewMemory(1), Results: &ledger{}},
		"results": {Workers: 1, Queue: queue.NewMemory(1), Run: hold},
		"worker":  {Queue: queue.NewMemory(1), Run: hold, Results: &ledger{}},
	} {
		if _, err := orchestrator.New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("without %s: %v", want, err)
		}
	}
}

// TestSkippedRecord holds what the record of a skipped test says: why, in which state what held it back is, and no
// failure of its own.
func TestSkippedRecord(t *testing.T) {
	unlessPassed := test("b", "a")
	unlessPassed.OnDependencyFailure = suite.SkipUnlessPassed
	for _, tc := range []struct {
		name    string
		of      map[string]result.Verdict
		b       *suite.Test
		status  result.Status
		reasons []string
	}{
		{"after an error", map[string]result.Verdict{
			"a": result.Error,
		}, test("b", "a"), result.ExecutionError, []string{
			"it depends on a, which could not be run or graded", "it depends on b, which was skipped",
		}},
		{"after a low score", map[string]result.Verdict{
			"a": result.Fail,
		}, unlessPassed, result.QualityFailure, []string{
			"it depends on a, which did not pass (on_dependency_failure: skip)", "it depends on b, which was skipped",
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := &ledger{}
			o := made(t, orchestrator.Config{
				RunID: "r", Workers: 2, Queue: queue.NewMemory(2), Results: l, Now: func() time.Time { return morning },
				Run: func(ctx context.Context, j orchestrator.Task) (*result.Test, error) {
					r, err := verdicts(tc.of)(ctx, j)
					r.ExecutionStatus = map[result.Verdict]result.Status{
						result.Error: result.ExecutionError, result.Fail: result.QualityFailure,
					}[r.Verdict]
					return r, err
				},
			})
			totals, err := o.Run(t.Context(), orchestrator.Plan{
				Tests: units(test("c", "b"), tc.b, test("a")), Needed: always,
			}, nil)
			if err != nil || totals.Skipped != 2 || len(l.records) != 3 {
				t.Fatalf("Run = %+v, %v with %v", totals, err, l.brief())
			}
			for i, r := range l.records[1:] {
				if r.Verdict != result.Skip || r.Score != 0 || r.ExecutionStatus != tc.status ||
					r.SkipReason != tc.reasons[i] || r.StartedAt != morning {
					t.Errorf("%s: %s %s %q at %s", r.TestID, r.Verdict, r.ExecutionStatus, r.SkipReason, r.StartedAt)
				}
				if r.Failures == nil || r.Turns == nil || len(r.Failures)+len(r.Turns) > 0 {
					t.Errorf("%s: failures %v, turns %v, want empty lists", r.TestID, r.Failures, r.Turns)
				}
			}
		})
	}
}

// TestStopWithNothingLeft holds that a stop during the last conversation changes nothing, and that one which leaves
// something to run does.
func TestStopWithNothingLeft(t *testing.T) {
	broken := map[string]result.Verdict{"last": result.Error}
	for _, tc := range []struct {
		name  string
		tests []*suite.Test
		of    map[string]result.Verdict
		err   error
		want  []string
	}{
		{"the last one", []*suite.Test{test("a"), test("last")}, nil, nil, []string{"a pass", "last pass"}},
		{
			"another one is left", []*suite.Test{test("last"), test("a")}, nil, orchestrator.ErrStopped,
			[]string{"last pass"},
		},
		{
			"a dependent is left", []*suite.Test{test("a", "last"), test("last")}, nil, orchestrator.ErrStopped,
			[]string{"last pass"},
		},
		{
			"only tests to be skipped are left", []*suite.Test{test("a", "last"), test("last"), test("b", "a")}, broken,
			nil, []string{"last error", "a skip", "b skip"},
		},
		{
			"a trial is left", []*suite.Test{trials("last", 2, suite.PassAll)}, nil, orchestrator.ErrStopped,
			[]string{"last#1 pass"},
		},
		{
			"the last trial", []*suite.Test{trials("last", 1, suite.PassAll)}, nil, nil,
			[]string{"last#1 pass", "last 1/1 1.00 pass"},
		},
		{
			"a trial that makes others needless", []*suite.Test{trials("last", 3, suite.PassAtK)}, nil, nil,
			[]string{"last#1 pass", "last 1/1 1.00 pass"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stop, l := make(chan struct{}), &ledger{}
				o := made(t, orchestrator.Config{
					Workers: 1, Queue: queue.NewMemory(1), Results: l,
					Run: func(ctx context.Context, j orchestrator.Task) (*result.Test, error) {
						if j.Test.ID == "last" {
							close(stop)
							time.Sleep(time.Second) // the stop is seen while this one is held
						}
						return verdicts(tc.of)(ctx, j)
					},
				})
				_, err := o.Run(t.Context(), orchestrator.Plan{Tests: units(tc.tests...), Needed: always}, stop)
				if !errors.Is(err, tc.err) {
					t.Errorf("Run = %v, want %v", err, tc.err)
				}
				if diff := cmp.Diff(tc.want, l.brief()); diff != "" {
					t.Errorf("records (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// full is a place for results that panics.
type full struct{}

func (full) Append(...*result.Test) error { panic("boom") }

// TestPanicsAroundTheRun holds that an observer which panics changes nothing, and that a plan or a log which panics
// ends the run with an error.
func TestPanicsAroundTheRun(t *testing.T) {
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	l, observed := &ledger{}, 0
	c := orchestrator.Config{
		Workers: 2, Queue: queue.NewMemory(2), Results: l, Run: verdicts(nil), Log: logger,
		Observe: func(orchestrator.Progress) {
			observed++
			panic("boom")
		},
	}
	if _, err := made(t, c).Run(t.Context(), orchestrator.Plan{Tests: units(test("a"), test("b"))}, nil); err != nil ||
		len(l.records) != 2 || observed != 1 {
		t.Errorf("an observer: %v with %v, asked %d times", err, l.brief(), observed)
	}
	if !strings.Contains(log.String(), "survive_test.go") {
		t.Errorf("the log has no stack: %s", log.String())
	}
	c.Observe, c.Results = nil, full{}
	if _, err := made(t, c).Run(t.Context(), orchestrator.Plan{Tests: units(test("a"), test("b"))}, nil); err == nil ||
		!strings.Contains(err.Error(), "boom") {
		t.Errorf("the results: %v", err)
	}
	c.Results = l
	plan := iter.Seq2[orchestrator.Unit, error](func(func(orchestrator.Unit, error) bool) { panic("boom") })
	if _, err := made(t, c).Run(t.Context(), orchestrator.Plan{Tests: plan}, nil); err == nil ||
		!strings.Contains(err.Error(), "boom") {
		t.Errorf("the plan: %v", err)
	}
}

// TestFlakyOverGradedTrials holds that trials which could not be run say nothing about flakiness, and enter neither
// rate nor score. A test with one is never stable: only flakiness that the others show is known.
func TestFlakyOverGradedTrials(t *testing.T) {
	const f, e = result.Fail, result.Error
	for _, tc := range []struct {
		strategy suite.Strategy
		of       map[string]result.Verdict
		flaky    bool
		class    string
		graded   int
	}{
		{suite.PassAll, map[string]result.Verdict{"x#2": e}, false, "", 2},
		{suite.MeanScore, map[string]result.Verdict{"x#1": e, "x#2": f, "x#3": f}, false, "", 2},
		{suite.MeanScore, map[string]result.Verdict{"x#1": e, "x#2": f}, true, "flaky", 2},
		{suite.MeanScore, map[string]result.Verdict{"x#1": e, "x#2": e, "x#3": e}, false, "", 0},
		{suite.PassAll, map[string]result.Verdict{"x#3": f}, true, "flaky", 3},
		{suite.PassAtK, map[string]result.Verdict{"x#1": e, "x#2": e}, false, "", 0}, // it stops at its first pass
	} {
		l := &ledger{}
		o := made(t, orchestrator.Config{Workers: 3, Queue: queue.NewMemory(3), Results: l, Run: verdicts(tc.of)})
		if _, err := o.Run(t.Context(), orchestrator.Plan{Tests: units(trials("x", 3, tc.strategy))}, nil); err != nil {
			t.Fatal(err)
		}
		sum := l.records[len(l.records)-1]
		flaky := slices.ContainsFunc(sum.Failures, func(f result.Failure) bool { return f.Code == result.Flaky })
		if flaky != tc.flaky || string(sum.Trials.Class) != tc.class || len(sum.Trials.PassHatK) != tc.graded ||
			sum.Trials.Count != 3 {
			t.Errorf("%s %v: flaky %t, trials %+v", tc.strategy, tc.of, flaky, sum.Trials)
		}
		if sum.Verdict == result.Error && sum.Score != 0 {
			t.Errorf("%s %v: an error with the score %v", tc.strategy, tc.of, sum.Score)
		}
	}
}

// TestAggregateOfAnyOrder holds that an aggregate is the same in whatever order the trials ended.
func TestAggregateOfAnyOrder(outer *testing.T) {
	rapid.Check(outer, func(t *rapid.T) {
		n := rapid.IntRange(2, 6).Draw(t, "trials")
		of := map[int]*result.Test{}
		for i := range n {
			of[i+1] = &result.Test{
				TestID: "x", Trial: i + 1,
				Verdict: rapid.SampledFrom([]result.Verdict{result.Pass, result.Fail, result.Error}).Draw(t, "verdict"),
				Score:   float64(rapid.IntRange(0, 4).Draw(t, "score")) / 4, DurationMS: float64(i),
				Failures: []result.Failure{{
					Code: rapid.SampledFrom(result.Codes[:4]).Draw(t, "code"), Message: fmt.Sprint("trial ", i+1),
				}},
			}
		}
		strategy := rapid.SampledFrom([]suite.Strategy{
			suite.PassAll, suite.MeanScore, suite.ConfidenceInterval,
		}).Draw(t, "strategy")
		sum := func(pauses []int) *result.Test {
			var last *result.Test
			synctest.Test(outer, func(*testing.T) {
				l := &ledger{}
				o, err := orchestrator.New(orchestrator.Config{
					Workers: n, Queue: queue.NewMemory(n), Results: l, Now: func() time.Time { return morning },
					Run: func(_ context.Context, j orchestrator.Task) (*result.Test, error) {
						time.Sleep(time.Duration(pauses[j.Trial-1]) * time.Second)
						r := *of[j.Trial]
						return &r, nil
					},
				})
				if err == nil {
					_, _ = o.Run(context.Background(), orchestrator.Plan{Tests: units(trials("x", n, strategy))}, nil)
				}
				last = l.records[len(l.records)-1]
			})
			return last
		}
		inOrder := make([]int, n)
		for i := range inOrder {
			inOrder[i] = i
		}
		seed := rapid.Uint64().Draw(t, "seed")
		if diff := cmp.Diff(sum(inOrder), sum(rand.New(rand.NewPCG(seed, 1)).Perm(n)),
			cmpopts.EquateNaNs()); diff != "" {
			t.Fatalf("aggregates (-in order +in another):\n%s", diff)
		}
	})
}

// TestEveryTestHasOneRecord holds, for random dependencies over several targets, that every test ends in exactly one
// record and that what is skipped was held back by the same target's record.
func TestEveryTestHasOneRecord(t *testing.T) {
	targets := []string{"x", "y"}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 10).Draw(t, "tests")
		var list []orchestrator.Unit
		of := map[result.Key]result.Verdict{}
		for i := range n {
			x := test(string(rune('a' + i)))
			x.Execution.Trials.Count = rapid.IntRange(0, 2).Draw(t, "trials")
			x.OnDependencyFailure = rapid.SampledFrom([]suite.OnDependencyFailure{
				"", suite.SkipUnlessPassed, suite.RunAnyway,
			}).Draw(t, "policy")
			for j := range i {
				if rapid.IntRange(0, 2).Draw(t, "depends") == 0 {
					x.DependsOn = append(x.DependsOn, string(rune('a'+j)))
				}
			}
			for _, target := range targets {
				list = append(list, orchestrator.Unit{Test: x, Target: target})
				of[result.Key{TestID: x.ID, Target: target}] = rapid.SampledFrom([]result.Verdict{
					result.Pass, result.Fail, result.Error,
				}).Draw(t, "verdict")
			}
		}
		list = rapid.Permutation(list).Draw(t, "order")
		l := &ledger{}
		o := made(t, orchestrator.Config{
			Workers: rapid.IntRange(1, 4).Draw(t, "workers"), Queue: queue.NewMemory(4), Results: l,
			Run: func(_ context.Context, j orchestrator.Task) (*result.Test, error) {
				v := of[result.Key{TestID: j.Test.ID, Target: j.Target}]
				return &result.Test{TestID: j.Test.ID, Trial: j.Trial, Verdict: v}, nil
			},
		})
		_, err := o.Run(context.Background(), orchestrator.Plan{
			Needed: always, Tests: func(yield func(orchestrator.Unit, error) bool) {
				for _, u := range list {
					if !yield(u, nil) {
						return
					}
				}
			},
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		ended := map[result.Key]result.Verdict{}
		for _, r := range l.records {
			if r.Trial > 0 {
				continue
			}
			if _, twice := ended[r.Key()]; twice {
				t.Fatalf("%v has two records", r.Key())
			}
			ended[r.Key()] = r.Verdict
		}
		for _, u := range list {
			key := result.Key{TestID: u.Test.ID, Target: u.Target}
			held := false
			for _, id := range u.Test.DependsOn {
				v := ended[result.Key{TestID: id, Target: u.Target}]
				held = held || u.Test.OnDependencyFailure == suite.SkipUnlessPassed && v != result.Pass ||
					u.Test.OnDependencyFailure == "" && (v == result.Error || v == result.Skip)
			}
			if v, ok := ended[key]; !ok || held != (v == result.Skip) {
				t.Fatalf("%v: record %t, verdict %q, held back %t", key, ok, v, held)
			}
		}
	})
}
