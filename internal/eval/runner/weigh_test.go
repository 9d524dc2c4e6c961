package runner_test

import (
	"math"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// weighed is a check with a weight. Its own threshold is the test's unless a test sets one.
func weighed(weight float64, required ...float64) runner.Check {
	c := runner.Check{Assertion: suite.Assertion{Weight: weight, Threshold: -1}}
	if len(required) > 0 {
		c.Required = &required[0]
	}
	return c
}

func TestWeigh(t *testing.T) {
	const threshold = 0.8
	for _, tc := range []struct {
		name   string
		checks []runner.Check
		scores []float64
		want   float64
	}{
		{"nothing to grade", nil, nil, 1},
		{"the weighted mean", []runner.Check{weighed(1), weighed(3)}, []float64{1, 0.5}, 0.625},
		{"a weight of 0 counts nothing", []runner.Check{weighed(0), weighed(1)}, []float64{0, 1}, 1},
		{"weights that are all 0 count equally", []runner.Check{weighed(0), weighed(0)}, []float64{1, 0.5}, 0.75},
		{"a required score is met exactly", []runner.Check{weighed(1, 0.5), weighed(1)}, []float64{0.5, 1}, 0.75},
		{"a required score is missed", []runner.Check{weighed(1, 0.5), weighed(1)}, []float64{0.499, 1}, 0},
		{"the second of two is missed", []runner.Check{weighed(1, 0.5), weighed(1, 0.5)}, []float64{1, 0.4}, 0},
		{"a required score of 0 is always met", []runner.Check{weighed(1, 0), weighed(1)}, []float64{0, 1}, 0.5},
		{
			"the test's threshold is required, and met exactly", []runner.Check{weighed(1, -1), weighed(1)},
			[]float64{0.8, 0}, 0.4,
		},
		{
			"the test's threshold is required, and missed", []runner.Check{weighed(1, -1), weighed(1)},
			[]float64{0.79, 1}, 0,
		},
		{"required 1 is met by 1", []runner.Check{weighed(1, 1)}, []float64{1}, 1},
		{"required 1 is missed by less", []runner.Check{weighed(1, 1)}, []float64{0.99}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			grades := make([]result.Grade, len(tc.scores))
			for i, score := range tc.scores {
				grades[i].Score = score
			}
			if got := runner.Weigh(tc.checks, grades, threshold); !(math.Abs(got-tc.want) <= 1e-12) {
				t.Errorf("Weigh = %v, want %v", got, tc.want)
			}
		})
	}
}

// TestPasses holds the exact ends of thresholds: a score that lacks no more than the rounding of a mean is enough.
func TestPasses(t *testing.T) {
	for _, tc := range []struct {
		name                string
		own, ofTest, scored float64
		want                bool
	}{
		{"the test's threshold, met exactly", -1, 0.8, 0.8, true},
		{"met but for rounding", -1, 0.8, 0.8 - 1e-10, true},
		{"missed by more than rounding", -1, 0.8, 0.8 - 2e-9, false},
		{"missed clearly", -1, 0.8, 0.79, false},
		{"the check's own threshold, met exactly", 0.5, 0.8, 0.5, true},
		{"the check's own threshold, missed", 0.5, 0.2, 0.49, false},
		{"an own threshold of 0 is met by everything", 0, 0.8, 0, true},
		{"an own threshold of 1 needs everything", 1, 0.5, 0.99, false},
		{"an own threshold of 1, met", 1, 0.5, 1, true},
		{"a threshold above 1 is no score: the test's counts", 200, 0.5, 0.5, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := runner.Check{Assertion: suite.Assertion{Threshold: tc.own}}
			if got := c.Passes(result.Grade{Score: tc.scored}, tc.ofTest); got != tc.want {
				t.Errorf("Passes = %t, want %t", got, tc.want)
			}
		})
	}
}

func TestFails(t *testing.T) {
	for _, tc := range []struct {
		name      string
		check     runner.Check
		score     float64
		reason    string
		want      bool
		wantWords string
	}{
		{"it passes", weighed(1), 0.8, "", false, ""},
		{"it does not pass", weighed(1), 0.7, "too short", true, ""},
		{"a required score is met exactly", weighed(1, 0.9), 0.9, "", false, ""},
		{
			"it passes, but below what is required", weighed(1, 0.9), 0.85, "too short", true,
			"scored 0.85, requires 0.90",
		},
		{
			"it neither passes nor reaches what is required, and has a reason", weighed(1, 0.9), 0.7, "too short", true,
			"",
		},
		{
			"it neither passes nor reaches what is required, and has none", weighed(1, 0.9), 0.7, "", true,
			"scored 0.70, requires 0.90",
		},
		{"what is required is below the threshold", weighed(1, 0.5), 0.6, "", true, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			failed, why := tc.check.Fails(result.Grade{Score: tc.score, Reason: tc.reason}, 0.8)
			if failed != tc.want || why != tc.wantWords {
				t.Errorf("Fails = %t, %q; want %t, %q", failed, why, tc.want, tc.wantWords)
			}
		})
	}
}

func TestAdjust(t *testing.T) {
	for _, tc := range []struct {
		name     string
		minScore float64
		negate   bool
		scored   float64
		want     float64
	}{
		{"as it is", 0, false, 0.3, 0.3},
		{"the minimum, met exactly", 0.6, false, 0.6, 0.6},
		{"below the minimum", 0.6, false, 0.59, 0},
		{"negated", 0, true, 0.25, 0.75},
		{"the minimum is that of the negated score", 0.6, true, 0.3, 0.7},
		{"a negated score below the minimum", 0.6, true, 0.7, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := runner.Check{Assertion: suite.Assertion{MinScore: tc.minScore, Negate: tc.negate}}
			if got := c.Adjust(result.Grade{Score: tc.scored}).Score; math.Abs(got-tc.want) > 1e-12 {
				t.Errorf("Adjust = %v, want %v", got, tc.want)
			}
		})
	}
}
