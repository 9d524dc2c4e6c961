package compare_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"rehearse/internal/compare"
	"rehearse/internal/result"
	"rehearse/internal/runlog"
)

func each(tests ...*result.Test) runlog.Tests {
	return func(yield func(*result.Test, error) bool) {
		for _, t := range tests {
			if !yield(t, nil) {
				return
			}
		}
	}
}

func came(id string, v result.Verdict, score float64) *result.Test {
	return &result.Test{Suite: "s", TestID: id, Target: "agent", Verdict: v, Score: score}
}

// sideOf returns a finished run of these tests.
func sideOf(id string, tests ...*result.Test) compare.Side {
	run := result.Run{ID: id, Targets: []string{"agent"}, ExitReason: result.ReasonPassed}
	var records result.Tallies
	for _, t := range tests {
		records.Add(t)
	}
	run.Count(&records, nil)
	return compare.Side{Run: run, Tests: each(tests...)}
}

func runs(t interface {
	Helper()
	Fatal(args ...any)
}, a, b compare.Side, o compare.Options,
) *result.Comparison {
	t.Helper()
	c, err := compare.Runs(a, b, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// listed returns the ids of the tests by the name of their list.
func listed(c *result.Comparison) map[string][]string {
	names := []string{"regressed", "still_failing", "ungraded", "fixed", "moved", "new", "gone", "unchanged"}
	lists := map[string][]string{}
	for i, list := range c.Lists() {
		for _, x := range *list {
			lists[names[i]] = append(lists[names[i]], x.TestID)
		}
	}
	return lists
}

// Each pair of verdicts belongs in one list (suites.md 8); "" is a run without the test, not_run one that planned it.
func TestListOfEveryPair(t *testing.T) {
	const p, f, e, s, none, not = result.Pass, result.Fail, result.Error, result.Skip, result.Verdict(""), result.NotRun
	want := map[[2]result.Verdict]string{
		{p, p}: "unchanged", {p, f}: "regressed", {p, e}: "ungraded", {p, s}: "ungraded", {p, none}: "gone", {p, not}: "gone",
		{f, p}: "fixed", {f, f}: "still_failing", {f, e}: "ungraded", {f, s}: "ungraded", {f, none}: "gone", {f, not}: "gone",
		{e, p}: "fixed", {e, f}: "still_failing", {e, e}: "ungraded", {e, s}: "ungraded", {e, none}: "gone", {e, not}: "gone",
		{s, p}: "fixed", {s, f}: "still_failing", {s, e}: "ungraded", {s, s}: "ungraded", {s, none}: "gone", {s, not}: "gone",
		{none, p}: "new", {none, f}: "new", {none, e}: "new", {none, s}: "new",
		{not, p}: "new", {not, f}: "new", {not, e}: "new", {not, s}: "new",
		{not, not}: "", {none, not}: "", {not, none}: "",
	}
	scores := map[result.Verdict]float64{p: 0.9, f: 0.3}
	side := func(v result.Verdict) compare.Side {
		switch v {
		case none:
			return sideOf("r")
		case not:
			of := sideOf("r")
			of.Run.NotRun, of.Run.Totals = []result.Key{{Suite: "s", TestID: "t", Target: "agent"}}, result.Totals{Planned: 1, NotRun: 1}
			of.Run.ExitReason = result.ReasonBudget
			return of
		}
		return sideOf("r", came("t", v, scores[v]))
	}
	for pair, name := range want {
		c := runs(t, side(pair[0]), side(pair[1]), compare.Options{})
		expected := map[string][]string{name: {"t"}}
		if name == "" {
			expected = map[string][]string{}
		}
		if diff := cmp.Diff(expected, listed(c)); diff != "" {
			t.Errorf("%q then %q (-want +got):\n%s", pair[0], pair[1], diff)
			continue
		}
		for _, list := range c.Lists() {
			for _, x := range *list {
				if x.Was != pair[0] || x.Now != pair[1] || (x.WasScore != nil) != pair[0].Graded() || (x.NowScore != nil) != pair[1].Graded() {
					t.Errorf("%q then %q is listed as %+v", pair[0], pair[1], x)
				}
			}
		}
		if both := pair[0].Graded() && pair[1].Graded(); (c.Paired.N == 1) != both || c.Paired.Interval != nil || c.Verdict != "inconclusive" {
			t.Errorf("%q then %q: paired %+v, %s", pair[0], pair[1], c.Paired, c.Verdict)
		}
	}
}

func TestMovedFromAHundredthOn(t *testing.T) {
	for _, tc := range []struct {
		was, now float64
		list     string
	}{
		{0.9, 0.91, "moved"}, {0.91, 0.9, "moved"}, {0.9, 0.9099, "unchanged"}, {0.9, 0.8901, "unchanged"}, {1, 0.85, "moved"}, {1, 1, "unchanged"},
	} {
		c := runs(t, sideOf("a", came("t", result.Pass, tc.was)), sideOf("b", came("t", result.Pass, tc.now)), compare.Options{})
		if diff := cmp.Diff(map[string][]string{tc.list: {"t"}}, listed(c)); diff != "" {
			t.Errorf("%v to %v (-want +got):\n%s", tc.was, tc.now, diff)
		}
	}
}

// Of a test with trials the aggregate counts; one without an aggregate was not run.
func TestTrials(t *testing.T) {
	trial := func(id string, n int, v result.Verdict) *result.Test {
		x := came(id, v, 0)
		x.Trial = n
		return x
	}
	sum := func(id string, v result.Verdict, score float64) *result.Test {
		x := came(id, v, score)
		x.Trials = &result.Trials{Count: 2}
		return x
	}
	a := sideOf("a", trial("whole", 1, result.Fail), trial("whole", 2, result.Pass), sum("whole", result.Pass, 1), came("half", result.Pass, 1))
	b := sideOf("b", sum("whole", result.Fail, 0.5), trial("whole", 1, result.Fail), trial("half", 1, result.Pass))
	b.Run.Totals.Planned, b.Run.Totals.NotRun, b.Run.ExitReason = 2, 1, result.ReasonInterrupted
	c := runs(t, a, b, compare.Options{})
	if diff := cmp.Diff(map[string][]string{"regressed": {"whole"}, "gone": {"half"}}, listed(c)); diff != "" {
		t.Errorf("Runs mismatch (-want +got):\n%s", diff)
	}
	if c.Gone[0].Now != result.NotRun || c.Paired.N != 1 {
		t.Errorf("gone %+v, paired %+v", c.Gone[0], c.Paired)
	}
}

// A run that is run again in part and stopped keeps old records of tests that it names as not run: they say nothing about it.
func TestOldRecordOfATestThatWasNotRun(t *testing.T) {
	b := sideOf("b", came("t", result.Fail, 0))
	b.Run.NotRun = []result.Key{{Suite: "s", TestID: "t", Target: "agent"}}
	b.Run.Totals, b.Run.ExitReason = result.Totals{Planned: 1, NotRun: 1, Tests: 1}, result.ReasonInterrupted
	c := runs(t, sideOf("a", came("t", result.Pass, 1)), b, compare.Options{})
	if len(c.Gone) != 1 || c.Gone[0].Now != result.NotRun {
		t.Errorf("listed as %v", listed(c))
	}
}

// Records of tests that left a resumed run stay in its log and count nowhere.
func TestRecordsThatCountNoLonger(t *testing.T) {
	left := came("left", result.Fail, 0)
	left.Target = "other"
	b := sideOf("b", came("t", result.Pass, 1), left)
	b.Run.LeftOut = []result.Key{{Suite: "s", TestID: "left", Target: "other"}}
	c := runs(t, sideOf("a", came("t", result.Pass, 1)), b, compare.Options{IgnoreTarget: true})
	if diff := cmp.Diff(map[string][]string{"unchanged": {"t"}}, listed(c)); diff != "" {
		t.Errorf("Runs mismatch (-want +got):\n%s", diff)
	}
}

// A run that died names no test that was not run, and its record has no totals but what was planned.
func TestDiedRun(t *testing.T) {
	died := sideOf("b", came("t1", result.Pass, 1))
	died.Run.Totals, died.Run.ExitReason = result.Totals{Planned: 3, NotRun: 3}, result.ReasonDied
	a := sideOf("a", came("t1", result.Pass, 1), came("t2", result.Pass, 1), came("t3", result.Fail, 0))
	c := runs(t, a, died, compare.Options{})
	if want := (result.Compared{RunID: "b", ExitReason: "died", Planned: 3, Held: 1, NotRun: 2}); c.Candidate != want {
		t.Errorf("candidate %+v, want %+v", c.Candidate, want)
	}
	for _, x := range c.Gone {
		if x.Now != result.NotRun {
			t.Errorf("gone %+v", x)
		}
	}
	many := sideOf("a", came("t2", result.Pass, 1), came("t3", result.Pass, 1), came("t4", result.Pass, 1))
	for _, x := range runs(t, many, died, compare.Options{}).Gone {
		if x.Now != "" { // three are gone, two were not run: which of them cannot be said
			t.Errorf("gone %+v", x)
		}
	}
}

func TestIgnoreTarget(t *testing.T) {
	elsewhere := func(v result.Verdict) *result.Test {
		x := came("t", v, 0)
		x.Target = "other"
		return x
	}
	a, b := sideOf("a", came("t", result.Pass, 1)), sideOf("b", elsewhere(result.Fail))
	c := runs(t, a, b, compare.Options{})
	if diff := cmp.Diff(map[string][]string{"new": {"t"}, "gone": {"t"}}, listed(c)); diff != "" {
		t.Errorf("with targets (-want +got):\n%s", diff)
	}
	if compare.Unmatched(c) != "no test is in both runs with the same target: --ignore-target compares by suite and id alone" {
		t.Errorf("unmatched: %q", compare.Unmatched(c))
	}
	c = runs(t, a, b, compare.Options{IgnoreTarget: true})
	if diff := cmp.Diff(map[string][]string{"regressed": {"t"}}, listed(c)); diff != "" || c.Regressed[0].Target != "other" {
		t.Errorf("without targets: %+v\n%s", c.Regressed, diff)
	}
	two := sideOf("b", came("t", result.Pass, 1), elsewhere(result.Fail))
	for _, sides := range [][2]compare.Side{{a, two}, {two, a}} {
		if _, err := compare.Runs(sides[0], sides[1], compare.Options{IgnoreTarget: true}); err == nil {
			t.Error("a run of two targets is compared without them")
		}
	}
}

func TestPaired(t *testing.T) {
	scores := func(scores ...float64) (tests []*result.Test) {
		for i, s := range scores {
			v := result.Fail
			if s >= 0.8 {
				v = result.Pass
			}
			tests = append(tests, came(fmt.Sprint("t", i), v, s))
		}
		return tests
	}
	for _, tc := range []struct {
		name     string
		was, now []float64
		mean     float64
		interval *[2]float64 // nil for none
		verdict  string
	}{
		{"nothing", nil, nil, math.NaN(), nil, "inconclusive"},
		{"one test", []float64{1}, []float64{0}, -1, nil, "inconclusive"},
		// Differences 0 and −0.33: Student's t with one degree of freedom is ±12.7 standard errors, beyond what scores can differ by.
		{"two tests", []float64{1, 1}, []float64{1, 0.67}, -0.165, &[2]float64{-1, 1}, "inconclusive"},
		// 3/8 of the pairs at most would differ.
		{"no pair differs", make([]float64, 8), make([]float64, 8), 0, &[2]float64{-0.375, 0.375}, "inconclusive"},
		// Student's t: mean 0.2, standard error √(0.01/4)/√5… of 0.1, 0.15, 0.2, 0.25, 0.3: 0.2 ± 2.7764 · 0.0790569/√5.
		{"better", []float64{0.5, 0.5, 0.5, 0.5, 0.5}, []float64{0.6, 0.65, 0.7, 0.75, 0.8}, 0.2, &[2]float64{0.101839, 0.298161}, "better"},
		{"worse", []float64{0.6, 0.65, 0.7, 0.75, 0.8}, []float64{0.5, 0.5, 0.5, 0.5, 0.5}, -0.2, &[2]float64{-0.298161, -0.101839}, "worse"},
	} {
		c := runs(t, sideOf("a", scores(tc.was...)...), sideOf("b", scores(tc.now...)...), compare.Options{})
		p := c.Paired
		if p.N != len(tc.was) || c.Verdict != tc.verdict || (p.Interval == nil) != (tc.interval == nil) || (p.MeanDifference == nil) != math.IsNaN(tc.mean) {
			t.Errorf("%s: %+v, %s", tc.name, p, c.Verdict)
			continue
		}
		if p.MeanDifference != nil && math.Abs(*p.MeanDifference-tc.mean) > 1e-9 {
			t.Errorf("%s: mean %v, want %v", tc.name, *p.MeanDifference, tc.mean)
		}
		if p.Interval != nil && (math.Abs(p.Interval[0]-tc.interval[0]) > 1e-5 || math.Abs(p.Interval[1]-tc.interval[1]) > 1e-5) {
			t.Errorf("%s: interval %v, want %v", tc.name, *p.Interval, *tc.interval)
		}
	}
}

// Every test is in exactly one list, and the lists of the reverse comparison are the counterparts.
func TestEveryTestInOneList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) (tests []*result.Test) {
			ids := rapid.SliceOfDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f"}), rapid.ID).Draw(t, label)
			for _, id := range ids {
				v := rapid.SampledFrom([]result.Verdict{result.Pass, result.Fail, result.Error, result.Skip}).Draw(t, "verdict")
				tests = append(tests, came(id, v, rapid.Float64Range(0, 1).Draw(t, "score")))
			}
			return tests
		}
		was, now := draw("was"), draw("now")
		a, b := sideOf("a", was...), sideOf("b", now...)
		there, back := runs(t, a, b, compare.Options{}), runs(t, b, a, compare.Options{})
		seen := map[string]int{}
		for _, list := range there.Lists() {
			for _, x := range *list {
				seen[x.TestID]++
			}
		}
		for _, x := range slices.Concat(was, now) {
			if seen[x.TestID] != 1 {
				t.Fatalf("%s is in %d lists: %v", x.TestID, seen[x.TestID], listed(there))
			}
		}
		one, other := listed(there), listed(back)
		slices.Sort(one["moved"])
		slices.Sort(other["moved"])
		for list, counterpart := range map[string]string{"new": "gone", "gone": "new", "moved": "moved", "unchanged": "unchanged"} {
			if diff := cmp.Diff(one[list], other[counterpart]); diff != "" {
				t.Fatalf("%s there, %s back:\n%s", list, counterpart, diff)
			}
		}
		for _, x := range there.Regressed { // passed and fails: the reverse is fixed
			if !slices.Contains(other["fixed"], x.TestID) {
				t.Fatalf("%s regressed there and is %v back", x.TestID, other)
			}
		}
		if p, q := there.Paired, back.Paired; p.N != q.N || p.MeanDifference != nil && math.Abs(*p.MeanDifference+*q.MeanDifference) > 1e-9 {
			t.Fatalf("paired %+v there, %+v back", p, q)
		}
		if p := there.Paired; p.Interval != nil && (p.Interval[0] < -1 || p.Interval[1] > 1 || p.Interval[0] > *p.MeanDifference || p.Interval[1] < *p.MeanDifference) {
			t.Fatalf("interval %v of %v", *p.Interval, *p.MeanDifference)
		}
	})
}

func TestBrokenSideIsNamed(t *testing.T) {
	broken := compare.Side{Tests: func(yield func(*result.Test, error) bool) { yield(nil, errors.New("torn")) }}
	if _, err := compare.Runs(broken, sideOf("b"), compare.Options{}); err == nil || err.Error() != "baseline: torn" {
		t.Errorf("broken baseline: %v", err)
	}
	if _, err := compare.Runs(sideOf("a"), broken, compare.Options{}); err == nil || err.Error() != "candidate: torn" {
		t.Errorf("broken candidate: %v", err)
	}
}

func TestGate(t *testing.T) {
	change := func(was, now result.Verdict) result.Change { return result.Change{TestID: "t", Was: was, Now: now} }
	regressed := []result.Change{change(result.Pass, result.Fail)}
	lost := []result.Change{change(result.Fail, result.Error), change(result.Pass, result.Error)}
	lostBefore := lost[:1]
	ended := result.Compared{ExitReason: result.ReasonFailed}
	for _, tc := range []struct {
		name    string
		c       result.Comparison
		own     int
		want    int
		ownGate bool
	}{
		{"regressed", result.Comparison{Candidate: ended, Regressed: regressed}, 1, 1, false},
		{"regressed and errors", result.Comparison{Candidate: ended, Regressed: regressed, Ungraded: lost}, 3, 1, false},
		{"passed before, an error now", result.Comparison{Candidate: ended, Ungraded: lost}, 3, 3, false},
		{"failed before, an error now", result.Comparison{Candidate: ended, Ungraded: lostBefore}, 3, 0, false},
		{"failing as before", result.Comparison{Candidate: ended, StillFailing: regressed, New: regressed}, 1, 0, false},
		{"stopped", result.Comparison{Candidate: result.Compared{ExitReason: result.ReasonInterrupted, NotRun: 1}, Regressed: regressed}, 130, 130, true},
		{"died", result.Comparison{Candidate: result.Compared{ExitReason: result.ReasonDied}}, 3, 3, true},
	} {
		code, why := compare.Regression.Exit(&tc.c, tc.own)
		if code != tc.want || (why == "") != tc.ownGate {
			t.Errorf("%s: %d (%s), want %d", tc.name, code, why, tc.want)
		}
		if code, why := compare.Any.Exit(&tc.c, tc.own); code != tc.own || why != "" {
			t.Errorf("%s, any: %d (%s), want %d", tc.name, code, why, tc.own)
		}
	}
	for name, want := range map[string]compare.Gate{"": compare.Any, "any": compare.Any, "regression": compare.Regression, "regressions": compare.Regression} {
		if got, err := compare.ParseGate(name); got != want || err != nil {
			t.Errorf("ParseGate(%q) = %q, %v", name, got, err)
		}
	}
	if _, err := compare.ParseGate("all"); err == nil {
		t.Error("ParseGate takes anything")
	}
}

// A list that is empty is an empty list, also where it is written as JSON.
func TestEmptyListsAreLists(t *testing.T) {
	for _, list := range runs(t, sideOf("a"), sideOf("b"), compare.Options{}).Lists() {
		if *list == nil {
			t.Error("an empty list is none")
		}
	}
}
