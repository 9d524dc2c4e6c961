package result_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

func counted(tests []*result.Test, planned int) result.Run {
	var y result.Tallies
	for _, t := range tests {
		y.Add(t)
	}
	run := result.Run{}
	run.Count(&y, map[string]int{"": planned})
	return run
}

func times(n int, t result.Test) (all []*result.Test) {
	for range n {
		one := t
		all = append(all, &one)
	}
	return all
}

// TestRateOfUnknownTests checks that errors, skipped tests and tests that were not run bound a rate instead of leaving
// it.
func TestRateOfUnknownTests(t *testing.T) {
	pass, fail := result.Test{Verdict: result.Pass, Score: 1}, result.Test{Verdict: result.Fail}
	broken, skipped := result.Test{Verdict: result.Error}, result.Test{Verdict: result.Skip}
	join := func(lists ...[]*result.Test) (all []*result.Test) {
		for _, l := range lists {
			all = append(all, l...)
		}
		return all
	}
	for _, tc := range []struct {
		name    string
		tests   []*result.Test
		planned int
		rate    float64 // negative where it is unknown
		bounds  [2]float64
	}{
		{"all graded", join(times(3, pass), times(1, fail)), 4, 0.75, [2]float64{0.75, 0.75}},
		{"half errors", join(times(10, pass), times(10, broken)), 20, -1, [2]float64{0.5, 1}},
		{
			"one error in twenty", join(times(10, pass), times(9, fail), times(1, broken)), 20, 10. / 19,
			[2]float64{0.5, 0.55},
		},
		{"skipped after another", join(times(1, pass), times(1, skipped)), 2, -1, [2]float64{0.5, 1}},
		{"stopped", times(2, pass), 5, -1, [2]float64{0.4, 1}},
		{"only errors", times(2, broken), 2, -1, [2]float64{0, 1}},
		{
			"ungraded tests are no part of it",
			join(times(2, pass), times(5, result.Test{Verdict: result.Ungraded, Score: 1})), 7, 1, [2]float64{1, 1},
		},
	} {
		run := counted(tc.tests, tc.planned)
		rate := -1.0
		if run.Rate != nil {
			rate = *run.Rate
		}
		if rate != tc.rate || cmp.Diff(*run.Bounds, tc.bounds) != "" || (run.Interval == nil) != (run.Rate == nil) {
			t.Errorf("%s: rate %v, bounds %v, interval %v; want %v, %v", tc.name, rate, *run.Bounds, run.Interval,
				tc.rate, tc.bounds)
		}
		if (run.Totals.MeanScore == nil) != (tc.rate < 0) || cmp.Diff(*run.Totals.MeanScoreBounds, tc.bounds) != "" {
			t.Errorf("%s: mean score %v within %v", tc.name, run.Totals.MeanScore, *run.Totals.MeanScoreBounds)
		}
	}
	if run := counted(times(3, result.Test{Verdict: result.Ungraded, Score: 1}), 3); run.Bounds != nil ||
		run.Rate != nil || run.Totals.MeanScore != nil {
		t.Errorf("a run that graded nothing has the rate %+v", run.PassRate)
	}
}

// TestNothingImprovesARate checks that a test that is not graded any more never raises the lower bound of the pass
// rate.
func TestNothingImprovesARate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 30).Draw(t, "tests")
		var tests []*result.Test
		for range n {
			tests = append(tests, &result.Test{Verdict: rapid.SampledFrom([]result.Verdict{
				result.Pass, result.Fail, result.Error, result.Skip,
			}).Draw(t, "verdict")})
		}
		before := counted(tests, n)
		lost := rapid.IntRange(0, n-1).Draw(t, "lost")
		tests[lost].Verdict = rapid.SampledFrom([]result.Verdict{result.Error, result.Skip}).Draw(t, "becomes")
		if rapid.Bool().Draw(t, "not run") {
			tests = append(tests[:lost], tests[lost+1:]...)
		}
		after := counted(tests, n)
		if after.Bounds[0] > before.Bounds[0]+1e-12 {
			t.Fatalf("the lower bound rose from %v to %v", before.Bounds[0], after.Bounds[0])
		}
		if after.Rate != nil && math.Abs(*after.Rate-after.Bounds[0]) > result.MaxUnknown+1e-12 {
			t.Fatalf("rate %v within %v", *after.Rate, *after.Bounds)
		}
	})
}

// TestTrialTotals checks pass^k and pass@k of a run. The values are those of four tests with 0100, 1111, 0000 and 1010.
func TestTrialTotals(t *testing.T) {
	of := func(passed int, strategy string) *result.Test {
		verdict := result.Fail
		if passed == 4 {
			verdict = result.Pass
		}
		return &result.Test{Verdict: verdict, Trials: &result.Trials{Count: 4, Passed: passed, Strategy: strategy}}
	}
	round := func(xs []float64) (out []float64) {
		for _, x := range xs {
			out = append(out, math.Round(x*1e4)/1e4)
		}
		return out
	}
	run := counted([]*result.Test{of(1, "mean"), of(4, "mean"), of(0, "mean"), of(2, "mean"), of(4, "pass_at_k")}, 5)
	got := run.Trials
	if got.N != 4 || got.Tests != 4 || got.Conversations != 16 || got.ConversationsPassed != 7 ||
		cmp.Diff([]float64{0.4375, 0.2917, 0.25, 0.25}, round(got.PassHatK)) != "" ||
		cmp.Diff([]float64{0.4375, 0.5833, 0.6875, 0.75}, round(got.PassAtK)) != "" {
		t.Errorf("trials %+v", got)
	}
	if run := counted([]*result.Test{of(4, "pass_at_k")}, 1); run.Trials != nil {
		t.Errorf("trials that stop at a pass have %+v", run.Trials)
	}
	broken := of(4, "mean")
	broken.Verdict = result.Error
	if got := counted([]*result.Test{of(4, "mean"), broken}, 2).Trials; got.PassHatK != nil || got.Unknown != 1 {
		t.Errorf("with half of the tests unknown: %+v", got)
	}
}

// TestByTag checks that each tag has the counts and the rate of its tests, and that clusters widen an interval.
func TestByTag(t *testing.T) {
	tests := append(times(8, result.Test{Verdict: result.Pass, Tags: []string{"money", "money"}}),
		times(4, result.Test{Verdict: result.Fail, Tags: []string{"money", "late"}})...)
	run := counted(tests, 12)
	if money := run.ByTag["money"]; money.Totals.Passed != 8 || money.Totals.Graded() != 12 ||
		math.Abs(*money.Rate-8./12) > 1e-12 || len(run.ByTag) != 2 {
		t.Errorf("by tag: %+v", run.ByTag)
	}
	for i, x := range tests {
		x.Cluster = string(rune('a' + i/4))
	}
	if clustered := counted(tests, 12); clustered.Interval[1]-clustered.Interval[0] <= run.Interval[1]-run.Interval[0] {
		t.Errorf("interval %v in clusters, %v without", *clustered.Interval, *run.Interval)
	}
}

// TestExitOfUngradedRuns checks that a run without a graded test is no success unless that is allowed.
func TestExitOfUngradedRuns(t *testing.T) {
	for _, tc := range []struct {
		totals  result.Totals
		allowed bool
		want    int
	}{
		{result.Totals{Ungraded: 3}, false, result.ExitNotRun},
		{result.Totals{Ungraded: 3}, true, result.ExitPassed},
		{result.Totals{Ungraded: 3, Passed: 1}, false, result.ExitPassed},
		{result.Totals{Ungraded: 3, Failed: 1}, true, result.ExitFailed},
		{result.Totals{Ungraded: 3, Errors: 1}, true, result.ExitNotRun},
	} {
		if code, _, _ := tc.totals.Exit(tc.allowed); code != tc.want {
			t.Errorf("%+v, allowed %t: exit %d, want %d", tc.totals, tc.allowed, code, tc.want)
		}
	}
}

// TestOldTotals checks that the key of completed tests in earlier versions is read.
func TestOldTotals(t *testing.T) {
	var run result.Run
	if err := json.Unmarshal([]byte(`{"totals":{"planned":3,"held":2,"passed":2,"not_run":1}}`), &run); err != nil ||
		run.Totals.Completed != 2 || run.Totals.Passed != 2 {
		t.Errorf("%+v, %v", run.Totals, err)
	}
}
