package runspec

import "github.com/rehearse-dev/rehearse/internal/base/source"

// Gate says what decides the exit code of a run that has a baseline.
type Gate string

// The gates. The zero value counts as GateAny.
const (
	// GateAny leaves the run its own exit code.
	GateAny Gate = "any"
	// GateRegression fails only what the candidate is shown to do worse than the baseline.
	GateRegression Gate = "regression"
	// GateAnyChange fails every test that passed and fails now, for agents that reply the same way every time.
	GateAnyChange Gate = "any-change"
)

// ParseGate reads the value of --fail-on.
func ParseGate(name string) (Gate, error) {
	switch name {
	case "", string(GateAny):
		return GateAny, nil
	case string(GateRegression), "regressions":
		return GateRegression, nil
	case string(GateAnyChange):
		return GateAnyChange, nil
	}
	return "", source.Invalid("unknown --fail-on %q: use any, regression or any-change", name)
}

// DefaultMinOverlap is the least share of the baseline's graded tests that a gate needs.
const DefaultMinOverlap = 0.9

// Rule is a gate with its settings.
type Rule struct {
	Gate Gate
	// MinOverlap is the share of the baseline's graded tests that must be compared.
	MinOverlap float64
	// Confirm is how often a fall is repeated; 0 means the default for the number of falls.
	Confirm int
}
