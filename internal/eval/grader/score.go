package grader

import (
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// scored returns a grade with a score and one assertion, which passes when the score does.
func scored(check runner.Check, x *runner.Exchange, want string, score float64, evidence string) result.Grade {
	g := yesNo(want, passes(check, x, score), evidence)
	g.Score = score
	return g
}

// passes reports whether a score passes, before the runner inverts a negated one.
func passes(check runner.Check, x *runner.Exchange, score float64) bool {
	if check.Negate {
		return !check.Passes(result.Grade{Score: 1 - score}, passMark(x))
	}
	return check.Passes(result.Grade{Score: score}, passMark(x))
}

// markOf returns the passing score of a check that has a threshold of its own, before negation.
func markOf(check runner.Check) float64 {
	if check.Negate {
		return 1 - check.Threshold
	}
	return check.Threshold
}
