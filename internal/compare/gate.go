package compare

import (
	"rehearse/internal/result"
	"rehearse/internal/source"
	"rehearse/internal/text"
)

// Gate says what decides the exit code of a run that has a baseline.
type Gate string

// The gates. The zero value counts as Any.
const (
	// Any leaves the run its own exit code.
	Any Gate = "any"
	// Regression fails only what the candidate does worse than the baseline.
	Regression Gate = "regression"
)

// ParseGate reads the value of --fail-on.
func ParseGate(name string) (Gate, error) {
	switch name {
	case "", string(Any):
		return Any, nil
	case string(Regression), "regressions":
		return Regression, nil
	}
	return "", source.Invalid("unknown --fail-on %q: use any or regression", name)
}

// Exit returns the exit code of the candidate, whose own is given, and says in a sentence why; the sentence is empty where the code is its own.
// A candidate that was stopped keeps its code.
func (g Gate) Exit(c *result.Comparison, own int) (code int, why string) {
	if g != Regression || c.Candidate.Stopped() {
		return own, ""
	}
	lost := 0
	for _, x := range c.Ungraded {
		if x.Was == result.Pass {
			lost++
		}
	}
	why = "--fail-on regression: "
	switch n := len(c.Regressed); {
	case n > 0:
		return result.ExitFailed, why + text.Plural(n, "test") + " regressed"
	case lost > 0:
		return result.ExitNotRun, why + text.Plural(lost, "test") + " that passed before could not be graded"
	}
	return result.ExitPassed, why + "no test regressed"
}
