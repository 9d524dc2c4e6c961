package runner

import (
	"fmt"

	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Adjust returns the grade as it counts: negated if the author asked for that, and 0 when it is below the minimum
// score.
func (c Check) Adjust(g result.Grade) result.Grade {
	if c.Negate {
		g.Score, g.Zero, g.Also = 1-g.Score, false, nil
		for i := range g.Assertions {
			g.Assertions[i].Passed, g.Assertions[i].Excused = !g.Assertions[i].Passed, false
			g.Assertions[i].Text = "not: " + g.Assertions[i].Text
		}
		if g.Reason == "" {
			g.Reason = unwanted(g.Assertions)
		}
	}
	if g.Score < c.MinScore {
		g.Score = 0
	}
	return g
}

// unwanted names the assertions of a negated grade that passed although they should not.
func unwanted(adjusted []result.Assertion) string {
	for _, a := range adjusted {
		if !a.Passed {
			return "wanted: " + a.Text + "; got: " + a.Evidence
		}
	}
	return "got what was not wanted"
}

// Passes reports whether an adjusted grade passes: it reaches the check's own threshold, or the test's if the check has
// none.
func (c Check) Passes(g result.Grade, threshold float64) bool {
	if c.Threshold >= 0 && c.Threshold <= 1 {
		threshold = c.Threshold
	}
	return result.Reaches(g.Score, threshold)
}

// Fails reports whether an adjusted grade is a failure: it does not pass, or it makes the score of the turn 0.
// why gives the cause in words when the grade's own reason does not.
func (c Check) Fails(g result.Grade, threshold float64) (failed bool, why string) {
	passes := c.Passes(g, threshold)
	if needed, required := c.requires(threshold); required && !result.Reaches(g.Score, needed) {
		if !passes && g.Reason != "" {
			return true, ""
		}
		return true, fmt.Sprintf("scored %.2f, requires %.2f", g.Score, needed)
	}
	return !passes || g.Zero, ""
}

// Zeroes reports whether an adjusted grade makes the score of the turn, or of the composite that holds the check, 0,
// whatever stands beside it: it is below the score that its check requires, or a required criterion failed.
func (c Check) Zeroes(g result.Grade, threshold float64) bool {
	needed, required := c.requires(threshold)
	return g.Zero || required && !result.Reaches(g.Score, needed)
}

// requires returns the score below which the whole turn scores 0.
func (c Check) requires(threshold float64) (needed float64, required bool) {
	switch {
	case c.Required == nil:
		return 0, false
	case *c.Required < 0:
		return threshold, true
	}
	return *c.Required, true
}

// Weigh returns the weighted mean of adjusted grades. It is 0 when one of them makes it so (see Check.Zeroes).
// Grades whose weights are all 0 count equally, or such a list would have no score.
func Weigh(checks []Check, grades []result.Grade, threshold float64) float64 {
	var sum, weights, plain float64
	for i, c := range checks {
		if c.Zeroes(grades[i], threshold) {
			return 0
		}
		sum += c.Weight * grades[i].Score
		weights += c.Weight
		plain += grades[i].Score
	}
	switch {
	case len(checks) == 0:
		return 1
	case weights == 0:
		return plain / float64(len(checks))
	}
	return sum / weights
}
