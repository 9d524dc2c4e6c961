package evaluation

import (
	"cmp"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// check reports what is wrong with the suites in view of the targets that the spec, the suites and the configurations
// settle.
func (e *Evaluation) check() error {
	var problems source.Problems
	for _, s := range e.suites {
		found, lost, err := e.checkSuite(s, func(t *suite.Test) ([]string, error) {
			t.Execution = e.execution(s, t.Execution)
			return e.targetNames(s, t)
		})
		if err != nil {
			return err
		}
		problems = append(problems, found...)
		for _, sentence := range lost {
			e.warn(sentence)
		}
	}
	return problems.Err()
}

// Check returns, as source.Problems, what is wrong with a loaded suite in view of its targets as long as the command
// line names none: dependencies that no target can satisfy, and nodes that a flow does not have. at is the setup of the
// suite's folder. A test whose target is not settled could be held with any.
func Check(at *wire.Setup, s *suite.Suite) error {
	e := &Evaluation{setups: map[string]*wire.Setup{s.Name: at}}
	problems, _, err := e.checkSuite(s, func(t *suite.Test) ([]string, error) {
		t.Execution = e.execution(s, t.Execution)
		names, err := e.targetNames(s, t)
		if err != nil {
			return nil, nil //nolint:nilerr // the command line may name a target
		}
		return names, nil
	})
	if err != nil {
		return err
	}
	return problems.Err()
}

// checkSuite checks one suite; targets returns the targets that a test is held with. The problems are in the order of
// their places. Lost are sentences about what stops nothing.
func (e *Evaluation) checkSuite(s *suite.Suite,
	targets func(*suite.Test) ([]string, error)) (problems source.Problems, lost []string, err error) {
	if problems, err = unmet(s, targets); err != nil {
		return nil, nil, err
	}
	stray, err := e.strayNodes(s, targets)
	if err != nil {
		return nil, nil, err
	}
	unplaced, lost, err := e.unplaced(s, targets)
	problems = slices.Concat(problems, stray, unplaced)
	slices.SortStableFunc(problems, func(a, b source.Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), a.Line-b.Line, a.Column-b.Column)
	})
	return problems, lost, err
}
