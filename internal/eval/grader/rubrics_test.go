package grader

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// checker is a judge of checklists that gives the answers it has and remembers the question.
type checker struct {
	answers map[string]RubricCheck
	asked   Question
}

func (c *checker) Decide(_ context.Context, q Question) (Verdict, error) {
	c.asked = q
	return Verdict{Checks: c.answers}, nil
}

const ranges = "score_ranges: {0: no, 4: some, 8: all}"

func TestRubrics(t *testing.T) {
	yes, no := RubricCheck{Satisfied: true}, RubricCheck{}
	scored := func(score float64) map[string]RubricCheck { return map[string]RubricCheck{"a": {Score: score}} }
	for _, tc := range []struct {
		name, criteria string
		answers        map[string]RubricCheck
		score          float64
		passed         []bool
	}{
		{
			"all satisfied", "[one, two]", map[string]RubricCheck{"criterion-1": yes, "criterion-2": yes}, 1,
			[]bool{true, true},
		},
		{
			"a share by weight", "[{id: a, outcome: x, weight: 3}, {id: b, outcome: y}]",
			map[string]RubricCheck{"a": yes, "b": no}, 0.75, []bool{true, false},
		},
		{
			"a required one fails, and another after it",
			"[{id: a, outcome: x, required: true}, {id: b, outcome: y}, {id: c, outcome: z}]",
			map[string]RubricCheck{"a": no, "b": no, "c": yes},
			0,
			[]bool{false, false, true},
		},
		{
			"a required one fails, after another",
			"[{id: b, outcome: y}, {id: a, outcome: x, required: true}, {id: c, outcome: z}]",
			map[string]RubricCheck{"a": no, "b": no, "c": yes},
			0,
			[]bool{false, false, true},
		},
		{
			"a required one is satisfied, another fails", "[{id: a, outcome: x, required: true}, {id: b, outcome: y}]",
			map[string]RubricCheck{"a": yes, "b": no},
			0.5,
			[]bool{true, false},
		},
		{
			"required: false", "[{id: a, outcome: x, required: false}, {id: b, outcome: y}]",
			map[string]RubricCheck{"a": no, "b": yes},
			0.5,
			[]bool{false, true},
		},
		{
			"a score below the test's threshold still counts", "[{id: a, outcome: x, " + ranges + "}]", scored(7), 0.7,
			[]bool{false},
		},
		{"a score at the test's threshold", "[{id: a, outcome: x, " + ranges + "}]", scored(8), 0.8, []bool{true}},
		{"the highest score", "[{id: a, outcome: x, " + ranges + "}]", scored(10), 1, []bool{true}},
		{"the lowest score", "[{id: a, outcome: x, " + ranges + "}]", scored(0), 0, []bool{false}},
		{
			"a score below its minimum counts nothing", "[{id: a, outcome: x, min_score: 0.6, " + ranges + "}]",
			scored(5.9), 0, []bool{false},
		},
		{
			"a score at its minimum", "[{id: a, outcome: x, min_score: 0.6, " + ranges + "}]", scored(6), 0.6,
			[]bool{true},
		},
		{
			"a minimum of 0 is always met", "[{id: a, outcome: x, min_score: 0, " + ranges + "}]", scored(0), 0,
			[]bool{true},
		},
		{
			"a required score is missed", "[{id: a, outcome: x, required: 0.6, " + ranges + "}, {id: b, outcome: y}]",
			map[string]RubricCheck{"a": {Score: 5}, "b": yes},
			0,
			[]bool{false, true},
		},
		{
			"a required score is met exactly",
			"[{id: a, outcome: x, required: 0.6, " + ranges + "}, {id: b, outcome: y}]",
			map[string]RubricCheck{"a": {Score: 6}, "b": yes},
			0.8,
			[]bool{true, true},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			check := one(t, New(Config{Judge: &checker{answers: tc.answers}}),
				"{type: rubrics, criteria: "+tc.criteria+"}")
			g, err := check.Grader.Grade(t.Context(), reply("hi"))
			if err != nil || math.Abs(g.Score-tc.score) > 1e-12 {
				t.Errorf("score %v, %v; want %v", g.Score, err, tc.score)
			}
			var passed []bool
			for _, a := range g.Assertions {
				passed = append(passed, a.Passed)
			}
			if diff := cmp.Diff(tc.passed, passed); diff != "" {
				t.Errorf("passed (-want +got):\n%s", diff)
			}
			if failed := slices.Contains(passed, false); failed != (g.Reason != "") {
				t.Errorf("reason %q of %v", g.Reason, passed)
			}
		})
	}
}

// TestScoreRanges holds how ranges reach the judge: a score of a mapping holds up to the next one, the last up to 10.
func TestScoreRanges(t *testing.T) {
	for written, want := range map[string][]Range{
		"{0: none, 4: some, 8: all}": {
			{[2]int{0, 3}, "none"},
			{[2]int{4, 7}, "some"},
			{[2]int{8, 10}, "all"},
		},
		"{0: none, 1: some, 10: all}": {
			{[2]int{0, 0}, "none"},
			{[2]int{1, 9}, "some"},
			{[2]int{10, 10}, "all"},
		},
		"{5: only}":                              {{[2]int{5, 10}, "only"}},
		"[{score_range: [0, 10], outcome: any}]": {{[2]int{0, 10}, "any"}},
		"[{score_range: [0, 0], outcome: none}, {score_range: [1, 10], outcome: something}]": {
			{[2]int{0, 0}, "none"},
			{[2]int{1, 10}, "something"},
		},
	} {
		judge := &checker{answers: map[string]RubricCheck{"a": {}}}
		check := one(t, New(Config{Judge: judge}), "{type: rubrics, criteria: [{id: a, outcome: x, score_ranges: "+
			written+"}]}")
		if _, err := check.Grader.Grade(t.Context(), reply("hi")); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, judge.asked.Rubrics[0].Ranges); diff != "" {
			t.Errorf("%s (-want +got):\n%s", written, diff)
		}
	}
}

func TestScoreRangeProblems(t *testing.T) {
	at := func(written, says string) problemCase {
		const before = "{type: rubrics, criteria: [{id: a, outcome: x, score_ranges: "
		return problemCase{yaml: before + written + "}]}", says: says}
	}
	s := New(Config{})
	for _, tc := range []problemCase{
		at("{-1: x}", `"-1" is no score`), at("{11: x}", `"11" is no score`), at("{2.5: x}", `"2.5" is no score`),
		at("{low: x}", `"low" is no score`), at("[{score_range: [3, 2], outcome: x}]", "not a range of scores"),
		at("[{score_range: [3], outcome: x}]", "not a range of scores"),
		at("[{score_range: [0, 5, 10], outcome: x}]", "not a range of scores"),
		at("[{score_range: [0, 11], outcome: x}]", "out of range"),
		at("[{score_range: [-1, 5], outcome: x}]", "out of range"),
		at("[{outcome: x}]", "needs its ends and an outcome"),
		at("[{score_range: [0, 5]}]", "needs its ends and an outcome"),
	} {
		found := s.Validate(read(t, "- "+tc.yaml, t.TempDir())[0])
		if len(found) == 0 || !strings.Contains(found[0].String(), tc.says) {
			t.Errorf("%s: %v, want %q", tc.yaml, found, tc.says)
		}
	}
}
