package grader

import (
	"context"
	"testing"
)

// rater is a judge that gives one score and remembers the question.
type rater struct {
	score float64
	asked Question
}

func (r *rater) Ask(_ context.Context, q Question) (Verdict, error) {
	r.asked = q
	return Verdict{
		Score: r.score, Checks: map[string]RubricCheck{"a": {Score: 10 * r.score}},
		Scores: map[string]float64{"correctness": r.score, "completeness": r.score, "flow": r.score, "format": r.score},
	}, nil
}

// The sign of a judge's check follows the check's own threshold, else the test's, which is 0.8.
func TestJudgePasses(t *testing.T) {
	const rubric = "criteria: [{id: a, outcome: x, " + ranges + "}]"
	for _, tc := range []struct {
		yaml   string
		score  float64
		passed bool
	}{
		{"{type: judge}", 0.79, false},
		{"{type: judge}", 0.8, true},
		{"{type: judge, threshold: 0.5}", 0.6, true},
		{"{type: judge, threshold: 0.5}", 0.49, false},
		{"{type: judge, threshold: 0.95}", 0.9, false},
		{"{type: judge, threshold: 0}", 0, true},
		{"{type: judge, threshold: 0.5, prompt: rate it}", 0.6, true},
		{"{type: judge, threshold: 0.5, negate: true}", 0.6, true}, // 0.4 after negation fails, so before it passes
		{"{type: rubrics, threshold: 0.5, " + rubric + "}", 0.6, true},
		{"{type: rubrics, threshold: 0.95, " + rubric + "}", 0.9, false},
		{"{type: judge, threshold: 0.5, rubrics: [{id: a, outcome: x, " + ranges + "}]}", 0.6, true},
	} {
		g, err := one(t, New(Config{Judge: &rater{score: tc.score}}), tc.yaml).Grader.Grade(t.Context(), reply("hi"))
		if err != nil || len(g.Assertions) == 0 || g.Assertions[0].Passed != tc.passed {
			t.Errorf("%s scored %g: %+v, %v; want passed %t", tc.yaml, tc.score, g.Assertions, err, tc.passed)
		}
	}
}
