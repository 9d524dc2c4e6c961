package grader

import (
	"fmt"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// comparison collects what was found about the fields of a reply.
type comparison struct {
	assertions     []result.Assertion
	weights, right float64
	faults         []string
}

func (c *comparison) add(f field, passed bool, want, evidence string) {
	c.assertions = append(c.assertions, result.Assertion{
		Text: f.path + " is " + want, Passed: passed, Evidence: evidence,
	})
	c.weights += f.weight
	if passed {
		c.right += f.weight
	} else {
		c.faults = append(c.faults, f.path+": "+evidence+" in place of "+want)
	}
}

// compareFields compares every field. It returns an error when the expected value of a field is not known.
func compareFields(fields []field, x *runner.Exchange) (*comparison, error) {
	reply, replyErr := lenientJSON(x.Output)
	reference, referenceErr := lenientJSON(x.Expected)
	c := &comparison{}
	for _, f := range fields {
		expected := f.expected
		if !f.given {
			if referenceErr != nil {
				return nil, fmt.Errorf("expected value of %s: neither expected nor JSON in expected_output: %w", f.path,
					referenceErr)
			}
			var known bool
			if expected, known = f.expr.FirstFound(reference); !known {
				return nil, fmt.Errorf(
					"expected value of %s: neither expected nor a value at that path of expected_output", f.path)
			}
		}
		if replyErr != nil {
			_, want := f.agrees(nil, expected)
			c.add(f, false, want, "the reply is not JSON: "+quote(x.Output))
			continue
		}
		got, present := f.expr.FirstFound(reply)
		ok, want := f.agrees(got, expected)
		switch {
		case present:
			c.add(f, ok, want, show(got))
		case f.required:
			c.add(f, false, want, "nothing at that path")
		default: // a missing optional field counts neither way
			c.assertions = append(c.assertions, result.Assertion{
				Text: f.path + " is " + want, Passed: true, Evidence: "not there, and optional",
			})
		}
	}
	return c, nil
}

// grade returns the share of fields that agree. A reply with nothing to compare scores 0.
func (c *comparison) grade(check runner.Check, x *runner.Exchange, allOrNothing bool) result.Grade {
	score := 0.0
	if c.weights > 0 {
		score = c.right / c.weights
	}
	if allOrNothing && len(c.faults) > 0 {
		score = 0
	}
	g := result.Grade{Score: score, Assertions: c.assertions, Code: result.AssistantContent}
	if !passes(check, x, score) {
		g.Reason = fmt.Sprintf("wanted: %s right; got: %s", counted(len(c.assertions), "field"), c.inWords())
	}
	return g
}

// inWords names the first few wrong fields.
func (c *comparison) inWords() string {
	if len(c.faults) == 0 {
		return "none of them"
	}
	text := strings.Join(c.faults[:min(len(c.faults), maxListed)], ", ")
	if rest := len(c.faults) - maxListed; rest > 0 {
		text += fmt.Sprintf(" and %d more", rest)
	}
	return text
}
