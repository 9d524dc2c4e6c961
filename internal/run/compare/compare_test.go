package compare_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rehearse-dev/rehearse/internal/run/compare"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
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
	names := []string{
		"regressed", "unconfirmed", "still_failing", "not_graded", "redefined", "within_noise", "fixed", "moved", "new",
		"gone", "unchanged",
	}
	lists := map[string][]string{}
	for i, list := range c.Lists() {
		for _, x := range *list {
			lists[names[i]] = append(lists[names[i]], x.TestID)
		}
	}
	return lists
}

// Each pair of verdicts belongs in one list; "" is a run without the test, not_run one that planned it.
func TestListOfEveryPair(t *testing.T) {
	const p, f, e, s, u, none, not = result.Pass, result.Fail, result.Error, result.Skip, result.Ungraded,
		result.Verdict(""), result.NotRun
	want := map[[2]result.Verdict]string{
		{p, p}: "unchanged", {p, f}: "unconfirmed", {f, p}: "fixed", {f, f}: "still_failing", {e, p}: "fixed",
		{e, f}: "still_failing", {s, p}: "fixed", {s, f}: "still_failing", {u, p}: "fixed", {u, f}: "still_failing",
		{not, not}: "", {none, not}: "", {not, none}: "",
	}
	for _, was := range []result.Verdict{p, f, e, s, u} {
		for _, now := range []result.Verdict{e, s, u} {
			want[[2]result.Verdict{was, now}] = "not_graded"
		}
		for _, lacking := range []result.Verdict{none, not} {
			want[[2]result.Verdict{was, lacking}], want[[2]result.Verdict{lacking, was}] = "gone", "new"
		}
	}
	scores := map[result.Verdict]float64{p: 0.9, f: 0.3}
	side := func(v result.Verdict) compare.Side {
		switch v {
		case none:
			return sideOf("r")
		case not:
			of := sideOf("r")
			of.Run.NotRun, of.Run.Totals = []result.Key{{Suite: "s", TestID: "t", Target: "agent"}},
				result.Totals{Planned: 1, NotRun: 1}
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
				if x.Was != pair[0] || x.Now != pair[1] || (x.WasScore != nil) != pair[0].Graded() ||
					(x.NowScore != nil) != pair[1].Graded() {
					t.Errorf("%q then %q is listed as %+v", pair[0], pair[1], x)
				}
			}
		}
		if both := pair[0].Graded() && pair[1].Graded(); (c.Paired.N == 1) != both || c.Paired.Interval != nil ||
			c.Verdict != "inconclusive" {
			t.Errorf("%q then %q: paired %+v, %s", pair[0], pair[1], c.Paired, c.Verdict)
		}
	}
}

func TestMovedFromAHundredthOn(t *testing.T) {
	for _, tc := range []struct {
		was, now float64
		list     string
	}{
		{0.9, 0.91, "moved"}, {0.91, 0.9, "moved"}, {0.9, 0.9099, "unchanged"}, {0.9, 0.8901, "unchanged"},
		{1, 0.85, "moved"}, {1, 1, "unchanged"},
	} {
		c := runs(t, sideOf("a", came("t", result.Pass, tc.was)), sideOf("b", came("t", result.Pass, tc.now)),
			compare.Options{})
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
	a := sideOf("a", trial("whole", 1, result.Fail), trial("whole", 2, result.Pass), sum("whole", result.Pass, 1),
		came("half", result.Pass, 1))
	b := sideOf("b", sum("whole", result.Fail, 0.5), trial("whole", 1, result.Fail), trial("half", 1, result.Pass))
	b.Run.Totals.Planned, b.Run.Totals.NotRun, b.Run.ExitReason = 2, 1, result.ReasonInterrupted
	c := runs(t, a, b, compare.Options{})
	if diff := cmp.Diff(map[string][]string{"unconfirmed": {"whole"}, "gone": {"half"}}, listed(c)); diff != "" {
		t.Errorf("Runs mismatch (-want +got):\n%s", diff)
	}
	if c.Gone[0].Now != result.NotRun || c.Paired.N != 1 {
		t.Errorf("gone %+v, paired %+v", c.Gone[0], c.Paired)
	}
}

// A run that is run again in part and stopped keeps old records of tests that it names as not run: they say nothing
// about it.
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
	if want := (result.Compared{
		RunID: "b", ExitReason: "died", Planned: 3, Completed: 1, NotRun: 2, Graded: 1,
	}); c.Candidate != want {
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
	if compare.Unmatched(c) !=
		"no test is in both runs with the same target: --ignore-target compares by suite and id alone" {
		t.Errorf("unmatched: %q", compare.Unmatched(c))
	}
	c = runs(t, a, b, compare.Options{IgnoreTarget: true})
	if diff := cmp.Diff(map[string][]string{"unconfirmed": {"t"}}, listed(c)); diff != "" ||
		c.Unconfirmed[0].Target != "other" {
		t.Errorf("without targets: %+v\n%s", c.Unconfirmed, diff)
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
		// Differences 0 and −0.33: Student's t with one degree of freedom is ±12.7 standard errors, beyond what scores
		// can differ by.
		{"two tests", []float64{1, 1}, []float64{1, 0.67}, -0.165, nil, "inconclusive"},
		{"three equal tests", make([]float64, 3), make([]float64, 3), 0, nil, "inconclusive"},
		// 3/8 of the pairs at most would differ.
		{"no pair differs", make([]float64, 8), make([]float64, 8), 0, &[2]float64{-0.375, 0.375}, "inconclusive"},
		// Student's t: mean 0.2, standard error √(0.01/4)/√5… of 0.1, 0.15, 0.2, 0.25, 0.3: 0.2 ± 2.7764 ·
		// 0.0790569/√5.
		{
			"better", []float64{0.5, 0.5, 0.5, 0.5, 0.5}, []float64{0.6, 0.65, 0.7, 0.75, 0.8}, 0.2,
			&[2]float64{0.101839, 0.298161}, "better",
		},
		{
			"worse", []float64{0.6, 0.65, 0.7, 0.75, 0.8}, []float64{0.5, 0.5, 0.5, 0.5, 0.5}, -0.2,
			&[2]float64{-0.298161, -0.101839}, "worse",
		},
	} {
		c := runs(t, sideOf("a", scores(tc.was...)...), sideOf("b", scores(tc.now...)...), compare.Options{})
		p := c.Paired
		if p.N != len(tc.was) || c.Verdict != tc.verdict || (p.Interval == nil) != (tc.interval == nil) ||
			(p.MeanDifference == nil) != math.IsNaN(tc.mean) {
			t.Errorf("%s: %+v, %s", tc.name, p, c.Verdict)
			continue
		}
		if p.MeanDifference != nil && math.Abs(*p.MeanDifference-tc.mean) > 1e-9 {
			t.Errorf("%s: mean %v, want %v", tc.name, *p.MeanDifference, tc.mean)
		}
		if p.Interval != nil && (math.Abs(p.Interval[0]-tc.interval[0]) > 1e-5 ||
			math.Abs(p.Interval[1]-tc.interval[1]) > 1e-5) {
			t.Errorf("%s: interval %v, want %v", tc.name, *p.Interval, *tc.interval)
		}
	}
}

// Every test is in exactly one list, and the lists of the reverse comparison are the counterparts.
func TestEveryTestInOneList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) (tests []*result.Test) {
			ids := rapid.SliceOfDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f"}), rapid.ID).
				Draw(t, label)
			for _, id := range ids {
				v := rapid.SampledFrom(result.Verdicts).Draw(t, "verdict")
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
		for list, counterpart := range map[string]string{
			"new": "gone", "gone": "new", "moved": "moved", "unchanged": "unchanged",
		} {
			if diff := cmp.Diff(one[list], other[counterpart]); diff != "" {
				t.Fatalf("%s there, %s back:\n%s", list, counterpart, diff)
			}
		}
		for _, x := range there.Unconfirmed { // passed and fails: the reverse is fixed
			if !slices.Contains(other["fixed"], x.TestID) {
				t.Fatalf("%s regressed there and is %v back", x.TestID, other)
			}
		}
		if p, q := there.Paired, back.Paired; p.N != q.N ||
			p.MeanDifference != nil && math.Abs(*p.MeanDifference+*q.MeanDifference) > 1e-9 {
			t.Fatalf("paired %+v there, %+v back", p, q)
		}
		if p := there.Paired; p.Interval != nil && (p.Interval[0] < -1 || p.Interval[1] > 1 ||
			p.Interval[0] > *p.MeanDifference || p.Interval[1] < *p.MeanDifference) {
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

// terms builds a record that a comparison may not pair with another.
func terms(id string, v result.Verdict, change func(*result.Test)) *result.Test {
	score := 0.0
	if v == result.Pass {
		score = 1
	}
	t := came(id, v, score)
	t.Definition, t.Threshold = "d", 0.8
	change(t)
	return t
}

// Only tests that were graded alike are compared; what differs is named.
func TestRedefined(t *testing.T) {
	trials := func(planned, count int, strategy string) func(*result.Test) {
		return func(t *result.Test) { t.Trials = &result.Trials{Planned: planned, Count: count, Strategy: strategy} }
	}
	judged := func(t *result.Test) { t.Judge.CacheHits = 1 }
	same := func(*result.Test) {}
	judges := func(definition string) map[string]any {
		return map[string]any{result.JudgesKey: map[string]result.JudgeIdentity{"s": {
			Name: "j", Definition: definition,
		}}}
	}
	for _, tc := range []struct {
		name         string
		was, now     func(*result.Test)
		before, then any
		differ       string // the setting, empty where the test is compared all the same
		redefined    bool
	}{
		{"nothing", same, same, nil, nil, "", false},
		{"threshold", same, func(t *result.Test) { t.Threshold = 0.4 }, nil, nil, "threshold", true},
		{"rounding", same, func(t *result.Test) { t.Threshold = 0.1 + 0.7 }, nil, nil, "", false},
		{"strictness", same, func(t *result.Test) { t.Strict = true }, nil, nil, "strictness", true},
		{"definition", same, func(t *result.Test) { t.Definition = "other" }, nil, nil, "definition", true},
		{
			"an unknown definition", same, func(t *result.Test) { t.Definition, t.Strict = "", true }, nil, nil,
			"definition", false,
		},
		{"trials", same, trials(3, 3, "mean"), nil, nil, "trials", true},
		{"one trial", same, trials(1, 1, "pass_all"), nil, nil, "", false},
		{"fewer trials", trials(5, 5, "mean"), trials(3, 3, "mean"), nil, nil, "trials", true},
		{"early stopping", trials(5, 1, "pass_at_k"), trials(5, 3, "pass_at_k"), nil, nil, "", false},
		{
			"early stopping in an earlier version", trials(0, 1, "pass_at_k"), trials(5, 3, "pass_at_k"), nil, nil, "",
			false,
		},
		{"strategy", trials(5, 5, "mean"), trials(5, 5, "pass_all"), nil, nil, "strategy", true},
		{"another judge of a judged test", judged, same, judges("1"), judges("2"), "judge", true},
		{"another judge of a test that none decides", same, same, judges("1"), judges("2"), "judge", false},
		{"the same judge", judged, judged, judges("1"), judges("1"), "", false},
		{"a judge of an earlier version", judged, judged, nil, judges("1"), "", false},
		{
			"another user", func(t *result.Test) { t.User = &result.User{Model: "a"} },
			func(t *result.Test) { t.User = &result.User{Model: "b"} }, nil, nil, "user", true,
		},
		{
			"a sample", same, same, nil, map[string]any{result.SelectionKey: result.Selection{Sample: "2"}}, "sample",
			false,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a, b := sideOf("a", terms("t", result.Fail, tc.was)), sideOf("b", terms("t", result.Pass, tc.now))
			a.Run.Config, b.Run.Config = tc.before, tc.then
			c := runs(t, a, b, compare.Options{})
			list, n := "fixed", 1
			if tc.redefined {
				list, n = "redefined", 0
			}
			if diff := cmp.Diff(map[string][]string{list: {"t"}}, listed(c)); diff != "" || c.Paired.N != n {
				t.Errorf("paired %+v (-want +got):\n%s", c.Paired, diff)
			}
			if differs := len(c.Differences) == 1 && c.Differences[0].What == tc.differ; differs != (tc.differ != "") ||
				len(c.Differences) > 1 {
				t.Errorf("differences %+v, want %q", c.Differences, tc.differ)
			}
		})
	}
}

// A fall is confirmed by repeats that all fail, cleared by one that passes, and confirmed at once for a required test
// or a deterministic agent.
func TestFalls(t *testing.T) {
	const p, f, e = result.Pass, result.Fail, result.Error
	key := result.Key{Suite: "s", TestID: "t", Target: "agent"}
	repeats := func(n int, v ...result.Verdict) compare.Options {
		return compare.Options{Repeats: compare.Repeats{N: n, Of: map[result.Key][]result.Verdict{key: v}}}
	}
	for _, tc := range []struct {
		name     string
		o        compare.Options
		required bool
		list     string
	}{
		{"no repeats", compare.Options{}, false, "unconfirmed"},
		{"all fail", repeats(3, f, f, f), false, "regressed"},
		{"the last passes", repeats(3, f, f, p), false, "within_noise"},
		{"too few", repeats(3, f, f), false, "unconfirmed"},
		{"an error is no failure", repeats(3, f, e, f), false, "unconfirmed"},
		{"an error and a pass", repeats(3, e, p), false, "within_noise"},
		{"required", compare.Options{}, true, "regressed"},
		{"deterministic", compare.Options{Deterministic: true}, false, "regressed"},
	} {
		was, now := came("t", p, 1), came("t", f, 0)
		was.Required = tc.required // the candidate's suite no longer says so
		if diff := cmp.Diff(map[string][]string{tc.list: {"t"}},
			listed(runs(t, sideOf("a", was), sideOf("b", now), tc.o))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

// With trials, an exact test confirms a fall by itself: corrected for the number of tests, and not where trials stop at
// the first pass.
func TestFallsByTrials(t *testing.T) {
	side := func(id string, tests, passed int, strategy string) compare.Side {
		var all []*result.Test
		for i := range tests {
			of := 10
			if i == 0 {
				of = passed
			}
			x := terms(fmt.Sprint("t", i), result.Pass, func(t *result.Test) {
				t.Trials = &result.Trials{
					Planned: 10, Count: 10, Passed: of, Strategy: strategy, PassHatK: make([]float64, 10),
				}
			})
			all = append(all, x)
		}
		return sideOf(id, all...)
	}
	for _, tc := range []struct {
		tests, passed int
		strategy      string
		want          int
	}{
		{1, 5, "mean", 1},      // p = 0.016
		{1, 6, "mean", 0},      // p = 0.043
		{2, 5, "mean", 0},      // p = 0.033
		{20, 3, "mean", 0},     // p = 0.0015
		{20, 2, "mean", 1},     // p = 0.0004
		{100, 0, "mean", 1},    // p = 0.0005
		{1, 0, "pass_at_k", 0}, // no sample
		{1, 10, "pass_all", 0}, // nothing fell
		{1, 5, "pass_all", 1},  // the strategy does not matter
		{1000, 0, "mean", 1},   // p = 0.0054
		{10000, 0, "mean", 0},  // p = 0.054
	} {
		c := runs(t, side("a", tc.tests, 10, tc.strategy), side("b", tc.tests, tc.passed, tc.strategy),
			compare.Options{})
		if len(c.Regressed) != tc.want {
			t.Errorf("%d tests, 10 of 10 trials passed and %d then, %s: %d regressed, want %d", tc.tests, tc.passed,
				tc.strategy, len(c.Regressed), tc.want)
		}
	}
}

// Tests of one cluster are one observation: fewer than six clusters show nothing.
func TestClusters(t *testing.T) {
	side := func(id string, clusters, failing int) compare.Side {
		var tests []*result.Test
		for i := range 40 {
			x := came(fmt.Sprint("t", i), result.Pass, 1)
			if clusters > 0 {
				x.Cluster = fmt.Sprint("c", i%clusters)
			}
			if i%max(clusters, 1) < failing && (clusters > 0 || i < 10) {
				x.Verdict, x.Score = result.Fail, 0
			}
			tests = append(tests, x)
		}
		return sideOf(id, tests...)
	}
	for _, tc := range []struct {
		clusters, failing, want int
		verdict                 string
	}{
		{0, 1, 40, "worse"}, {5, 2, 5, "inconclusive"}, {5, 5, 5, "inconclusive"}, {8, 2, 8, "inconclusive"},
		{10, 6, 10, "worse"},
	} {
		c := runs(t, side("a", tc.clusters, 0), side("b", tc.clusters, tc.failing), compare.Options{})
		if c.Paired.Clusters != tc.want || c.Verdict != tc.verdict {
			t.Errorf("%d clusters of which %d fail: %+v, %s, want %s", tc.clusters, tc.failing, c.Paired, c.Verdict,
				tc.verdict)
		}
	}
}

// A verdict never stands alone: every comparison of two tests or more says what it could not have seen.
func TestPowerOfAComparison(t *testing.T) {
	for n, want := range map[int]float64{2: 1, 3: 1, 10: 0.3, 100: 0.03} {
		var was, now []*result.Test
		for i := range n {
			was, now = append(was, came(fmt.Sprint(i), result.Pass, 1)),
				append(now, came(fmt.Sprint(i), result.Pass, 1))
		}
		c := runs(t, sideOf("a", was...), sideOf("b", now...), compare.Options{})
		if c.Detectable == nil || math.Abs(*c.Detectable-want) > 1e-9 || c.TestsNeeded == nil ||
			float64(*c.TestsNeeded) != 6/want {
			t.Errorf("%d equal tests: %v, %v tests", n, c.Detectable, c.TestsNeeded)
		}
	}
	few := runs(t, sideOf("a", came("x", result.Pass, 1), came("y", result.Pass, 1)),
		sideOf("b", came("x", result.Fail, 0), came("y", result.Pass, 1)), compare.Options{})
	if few.Detectable != nil || few.TestsNeeded == nil {
		t.Errorf("two tests of which one changed: %v, %v", few.Detectable, few.TestsNeeded)
	}
}

func TestGate(t *testing.T) {
	change := func(was, now result.Verdict) result.Change { return result.Change{TestID: "t", Was: was, Now: now} }
	fell := []result.Change{change(result.Pass, result.Fail)}
	required := []result.Change{{TestID: "t", Was: result.Pass, Now: result.Skip, Required: true}}
	changed := []result.Change{{
		TestID: "t", Was: result.Pass, Now: result.Fail, Required: true, Differs: []string{"threshold"},
	}}
	lost := []result.Change{change(result.Fail, result.Error), change(result.Pass, result.Error)}
	asBefore := []result.Change{change(result.Error, result.Error)}
	const own = 7
	for _, tc := range []struct {
		name              string
		n                 int
		c                 result.Comparison
		regression, other int
	}{
		{"nothing", 10, result.Comparison{}, 0, 0},
		{"regressed", 10, result.Comparison{Regressed: fell}, 1, 1},
		{"regressed, with errors and too few tests", 1, result.Comparison{Regressed: fell, NotGraded: lost}, 1, 1},
		{"the mean score is worse", 10, result.Comparison{Verdict: "worse"}, 1, 0},
		{"better", 10, result.Comparison{Verdict: "better"}, 0, 0},
		{"not confirmed", 10, result.Comparison{Unconfirmed: fell}, 0, 1},
		{"not confirmed for want of budget", 10, result.Comparison{
			Unconfirmed: fell, Confirmation: &result.Confirmation{Missing: "the budget is spent"},
		}, 3, 1},
		{"within noise", 10, result.Comparison{WithinNoise: fell}, 0, 1},
		{"an error now", 10, result.Comparison{NotGraded: lost[:1]}, 3, 0},
		{"passed before, an error now", 10, result.Comparison{NotGraded: lost}, 3, 3},
		{"an error as before", 10, result.Comparison{NotGraded: asBefore}, 0, 0},
		{"a new test has an error", 10, result.Comparison{New: []result.Change{change("", result.Error)}}, 3, 0},
		{"a redefined test has an error", 10, result.Comparison{Redefined: lost}, 3, 0},
		{"failing as before, and a new one", 10, result.Comparison{
			StillFailing: fell, New: []result.Change{change("", result.Fail)},
		}, 0, 0},
		{"nine of ten", 9, result.Comparison{}, 0, 0},
		{"eight of ten", 8, result.Comparison{}, 3, 0},
		{"none of ten", 0, result.Comparison{}, 3, 0},
		{"a required test is skipped", 9, result.Comparison{NotGraded: required}, 3, 3},
		{"a required test is gone", 9, result.Comparison{Gone: required}, 3, 0},
		{"a required test is redefined and fails", 9, result.Comparison{Redefined: changed}, 3, 0},
		{"stopped", 10, result.Comparison{
			Regressed: fell, Candidate: result.Compared{ExitReason: result.ReasonInterrupted, NotRun: 1},
		}, own, own},
		{"died", 10, result.Comparison{Candidate: result.Compared{ExitReason: result.ReasonDied}}, own, own},
	} {
		tc.c.Baseline.Graded, tc.c.Paired.N = 10, tc.n
		if tc.c.Candidate.ExitReason == "" {
			tc.c.Candidate.ExitReason = result.ReasonFailed
		}
		for gate, want := range map[compare.Gate]int{
			compare.Any: own, "": own, compare.Regression: tc.regression, compare.AnyChange: tc.other,
		} {
			code, why := compare.Rule{Gate: gate, MinOverlap: runspec.DefaultMinOverlap}.Exit(&tc.c, own)
			if code != want || (why == "") != (want == own) {
				t.Errorf("%s, %q: %d (%s), want %d", tc.name, gate, code, why, want)
			}
		}
	}
	if code, _ := (compare.Rule{Gate: compare.Regression}).Exit(&result.Comparison{
		Candidate: result.Compared{ExitReason: "failed"},
	}, 0); code != 3 {
		t.Errorf("nothing was compared: %d", code)
	}
	for name, want := range map[string]compare.Gate{
		"": compare.Any, "any": compare.Any, "regression": compare.Regression, "regressions": compare.Regression,
		"any-change": compare.AnyChange,
	} {
		if got, err := runspec.ParseGate(name); got != want || err != nil {
			t.Errorf("ParseGate(%q) = %q, %v", name, got, err)
		}
	}
	if _, err := runspec.ParseGate("all"); err == nil {
		t.Error("ParseGate takes anything")
	}
}

// The number of repeats follows from the number of falls.
func TestRepeats(t *testing.T) {
	for falls, want := range map[int]int{0: 5, 1: 5, 2: 6, 3: 6, 4: 7, 7: 8, 100: 11, 1000: 15} {
		if n := (compare.Rule{}).Repeats(falls); n != want {
			t.Errorf("%d falls: %d repeats, want %d", falls, n, want)
		}
	}
	if n := (compare.Rule{Confirm: 1}); n.Repeats(100) != 1 || n.Retries(100) != 2 {
		t.Errorf("--confirm 1: %d repeats of a fall, %d of an error", n.Repeats(100), n.Retries(100))
	}
}

// A stored comparison of an earlier version is read.
func TestEarlierComparison(t *testing.T) {
	var c result.Comparison
	if err := json.Unmarshal([]byte(
		`{"ungraded": [{"test_id": "x", "was": "pass", "now": "error"}], "verdict": "worse"}`), &c); err != nil ||
		len(c.NotGraded) != 1 || c.Verdict != "worse" {
		t.Errorf("%+v, %v", c, err)
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
