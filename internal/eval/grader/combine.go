package grader

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// combine makes one grade of the children's adjusted grades.
func (c *composite) combine(grades []result.Grade, x *runner.Exchange) result.Grade {
	threshold := passMark(x)
	g := result.Grade{Code: result.AssistantContent}
	var failed []string
	var codes []result.Code
	g.Also = requiredCriteria(grades)
	for i, child := range c.children {
		for _, found := range grades[i].Assertions {
			if found.Grader == "" {
				found.Grader = child.Type
			}
			g.Assertions = append(g.Assertions, found)
		}
		if !child.Passes(grades[i], threshold) {
			failed = append(failed, nameOf(child))
			codes = append(codes, grades[i].Code)
		}
	}
	want, got := c.score(grades, threshold)
	g.Score = got
	if (c.mode == "any" || c.mode == "threshold") && passes(c.check, x, got) {
		for i := range g.Assertions {
			g.Assertions[i].Excused = !g.Assertions[i].Passed
		}
	}
	if !passes(c.check, x, g.Score) {
		g.Reason = fmt.Sprintf("wanted: %s; got: %s", want, decimal(got))
		if len(failed) > 0 {
			g.Reason += " because " + strings.Join(failed, ", ") + " failed"
		}
		for _, code := range result.Codes {
			if slices.Contains(codes, code) {
				g.Code = code
				break
			}
		}
	}
	return g
}

// requiredCriteria returns the failures of required criteria among the grades. The composite's own failure has one code
// only.
func requiredCriteria(grades []result.Grade) []result.Failure {
	var lost []result.Failure
	for _, g := range grades {
		if g.Zero {
			lost = append(lost, result.Failure{Code: g.Code, Source: g.Source, Message: g.Reason})
		}
		lost = append(lost, g.Also...)
	}
	return lost
}

// score returns the score of the composite in its mode, and in words what was wanted.
// In every mode it is 0 when a required child is below the score that it requires.
func (c *composite) score(grades []result.Grade, threshold float64) (want string, score float64) {
	mark, n := decimal(c.mark(threshold)), len(grades)
	switch c.mode {
	case "weighted":
		return fmt.Sprintf("a weighted mean of %d checks of at least %s", n, mark),
			runner.Weigh(c.children, grades, threshold)
	case "threshold":
		return fmt.Sprintf("a share of at least %s of %d checks to pass", mark, n), c.share(grades, threshold)
	}
	least, greatest := 1.0, 0.0
	for i, g := range grades {
		if c.children[i].Zeroes(g, threshold) {
			least, greatest = 0, 0
			break
		}
		least, greatest = math.Min(least, g.Score), math.Max(greatest, g.Score)
	}
	if c.mode == "all" {
		return fmt.Sprintf("each of %d checks to score at least %s", n, mark), least
	}
	return fmt.Sprintf("one of %d checks to score at least %s", n, mark), greatest
}

// share returns the share of the children that pass by their own mark, 0 when a required one fails.
func (c *composite) share(grades []result.Grade, threshold float64) float64 {
	passed := 0
	for i, g := range grades {
		if c.children[i].Zeroes(g, threshold) {
			return 0
		}
		if c.children[i].Passes(g, threshold) {
			passed++
		}
	}
	return float64(passed) / float64(max(1, len(grades)))
}

// mark is the score from which the composite passes, before negation.
func (c *composite) mark(threshold float64) float64 {
	if c.check.Threshold >= 0 {
		return markOf(c.check)
	}
	return threshold
}

func nameOf(c runner.Check) string {
	if c.Name != "" {
		return c.Name
	}
	return c.Type
}
