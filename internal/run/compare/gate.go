package compare

import (
	"fmt"
	"math"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/stats"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
)

// Gate says what decides the exit code of a run that has a baseline.
type Gate = runspec.Gate

// The gates.
const (
	Any        = runspec.GateAny
	Regression = runspec.GateRegression
	AnyChange  = runspec.GateAnyChange
)

// The defaults of a Rule.
const (
	// LeastRepeats and LeastRetries are how often falls and errors are repeated at least where no number is given.
	LeastRepeats = 3
	LeastRetries = 2
	// FalseAlarms is the rate at which repeats confirm a fall of an agent that has not changed, at most, if each of its
	// tests passes at least half of the time.
	FalseAlarms = 0.05
)

// Rule is a gate with its settings, and what follows from them.
type Rule runspec.Rule

// Repeats returns how often each of some falls is repeated: so often that the chance of one that keeps failing by
// accident is at most FalseAlarms, if each test passes at least half of the time.
func (r Rule) Repeats(falls int) int {
	if r.Confirm > 0 {
		return r.Confirm
	}
	return max(LeastRepeats, int(math.Ceil(math.Log2(float64(max(falls, 1))/FalseAlarms))))
}

// Retries returns how often a test is repeated that could not be graded.
func (r Rule) Retries(falls int) int { return max(LeastRetries, r.Repeats(falls)) }

// Exit returns the exit code of the candidate, whose own is given, and says in a sentence why; the sentence is empty
// where the code is its own. A candidate that was stopped keeps its code. It needs nothing but what the comparison has
// in JSON.
func (r Rule) Exit(c *result.Comparison, own int) (code int, why string) {
	if r.Gate == "" || r.Gate == Any || c.Candidate.Stopped() {
		return own, ""
	}
	why = "--fail-on " + string(r.Gate) + ": "
	if r.Gate == AnyChange {
		code, reason := anyChange(c)
		return code, why + reason
	}
	if reason := Worse(c); reason != "" {
		return result.ExitFailed, why + reason
	}
	if reason := r.unusable(c); reason != "" {
		return result.ExitNotRun, why + reason
	}
	if n := len(c.WithinNoise) + len(c.Unconfirmed); n > 0 {
		return result.ExitPassed, why + "no regression is confirmed; " + text.Plural(n, "test") +
			" that passed before failed"
	}
	return result.ExitPassed, why + "no test regressed"
}

func anyChange(c *result.Comparison) (code int, reason string) {
	lost := 0
	for _, x := range c.NotGraded {
		if x.Was == result.Pass {
			lost++
		}
	}
	switch n := len(c.Regressed) + len(c.Unconfirmed) + len(c.WithinNoise); {
	case n > 0:
		return result.ExitFailed, text.Plural(n, "test") + " regressed"
	case lost > 0:
		return result.ExitNotRun, text.Plural(lost, "test") + " that passed before could not be graded"
	}
	return result.ExitPassed, "no test regressed"
}

// Worse says in words what shows that the candidate is worse; empty where nothing does.
func Worse(c *result.Comparison) string {
	required := first(c.Regressed, func(x result.Change) bool { return x.Required })
	switch {
	case c.Verdict == string(stats.Worse):
		return "the mean score is worse"
	case required != nil:
		return "the required test " + required.TestID + " regressed"
	case len(c.Regressed) > 0:
		return text.Plural(len(c.Regressed), "test") + " regressed"
	}
	return ""
}

// unusable says in words why the comparison cannot show that nothing became worse; empty where it can.
func (r Rule) unusable(c *result.Comparison) string {
	var reasons []string
	add := func(format string, values ...any) { reasons = append(reasons, fmt.Sprintf(format, values...)) }
	if errors := Errors(c); len(errors) > 0 {
		add("%s could not be graded and had no error in the baseline, such as %s", text.Plural(len(errors), "test"),
			errors[0].TestID)
	}
	switch n, graded := c.Paired.N, c.Baseline.Graded; {
	case graded == 0:
		add("the baseline graded no test")
	case n == 0, float64(n) < r.MinOverlap*float64(graded)-1e-9:
		add("%d of %d tests that the baseline graded were compared, at least %.3g%% are needed", n, graded,
			100*r.MinOverlap)
	}
	for _, list := range c.Lists() {
		missing := first(*list, func(x result.Change) bool {
			redefined := len(x.Differs) > 0 && x.Now != result.Pass
			return x.Required && x.Was == result.Pass && (redefined || !x.Now.Graded())
		})
		if missing != nil {
			add("the required test %s passed in the baseline and cannot be compared", missing.TestID)
		}
	}
	if c.Confirmation != nil && c.Confirmation.Missing != "" {
		add("%s could not be confirmed or cleared: %s", text.Plural(len(c.Unconfirmed), "fall"), c.Confirmation.Missing)
	}
	return strings.Join(reasons, "; ")
}

// Errors returns the tests that have an error in the candidate and had none in the baseline.
func Errors(c *result.Comparison) (errors []result.Change) {
	for _, list := range [][]result.Change{c.NotGraded, c.New, c.Redefined} {
		for _, x := range list {
			if x.Now == result.Error && x.Was != result.Error {
				errors = append(errors, x)
			}
		}
	}
	return errors
}

func first(list []result.Change, is func(result.Change) bool) *result.Change {
	for i := range list {
		if is(list[i]) {
			return &list[i]
		}
	}
	return nil
}
