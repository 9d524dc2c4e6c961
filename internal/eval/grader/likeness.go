package grader

import (
	"context"
	"fmt"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// measure returns how similar a text is to a reference, from 0 to 1.
type measure func(ctx context.Context, text, reference string) (float64, error)

// reference reads the text that a reply is compared with; empty means the turn's expected output.
func (a *Args) reference() string {
	value := a.TextOr("value", "", "the text to compare the reply with; default: the turn's expected_output")
	if a.node.Has("value") && strings.TrimSpace(value) == "" {
		a.Report("value", "write the text, or remove the key to use expected_output", "the text is empty")
	}
	return strings.TrimSpace(value)
}

// likeness makes a grader whose score is a measure. It passes from the author's threshold, or from passFrom when there
// is none. White space around both texts does not count.
func likeness(a *Args, reference, name string, passFrom float64, m measure) runner.Grader {
	a.PassFrom(passFrom)
	kind, check := a.Assertion.Type, runner.Check{Assertion: a.Assertion}
	return gradeFunc(func(ctx context.Context, x *runner.Exchange) (result.Grade, error) {
		wanted := reference
		if wanted == "" {
			wanted = strings.TrimSpace(x.Expected)
		}
		if wanted == "" {
			return result.Grade{},
				fmt.Errorf("reference of %s: the assertion has no value and the turn no expected_output", kind)
		}
		score, err := m(ctx, caseCounts.of(strings.TrimSpace(x.Text)), caseCounts.of(wanted))
		if err != nil {
			return result.Grade{}, fmt.Errorf("%s: %w", kind, err)
		}
		want := fmt.Sprintf("%s of at least %s with %s", name, decimal(markOf(check)), quote(wanted))
		return scored(check, x, want, score, decimal(score)+" for "+quote(x.Text)), nil
	})
}
