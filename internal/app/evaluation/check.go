package evaluation

import (
	"cmp"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/app/wire"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// Check returns, as source.Problems, what is wrong with a loaded suite in view of its targets, which are those of the
// command line if it names any: dependencies that no target can satisfy, and nodes that a flow does not have. at is the
// setup of the suite's folder. A test whose target is not settled could run with any. A target or a judge of the
// command line that does not exist is an error.
func Check(at *wire.Setup, s *suite.Suite, targets []string, judge string) error {
	e := &Evaluation{setups: map[string]*wire.Setup{s.Name: at}, suites: []*suite.Suite{s}}
	e.spec.Targets, e.spec.Judge = targets, judge
	for _, name := range targets {
		if _, err := at.TargetNamed(name); err != nil {
			return err
		}
	}
	if judge != "" {
		if _, err := at.JudgeDefinition(e.judging(s)); err != nil {
			return err
		}
	}
	problems, _, err := e.checkSuite(s, func(t *suite.Test) ([]string, error) {
		t.Execution = e.execution(s, t.Execution)
		names, err := e.targetNames(s, t)
		if err != nil {
			return nil, nil //nolint:nilerr // the command line may name a target
		}
		return names, nil
	}, func(*suite.Test, []string, error) {})
	if err != nil {
		return err
	}
	return problems.Err()
}

// checkSuite checks one suite; targets settles a test and returns the targets that it runs with. each gets every test,
// in order, with what targets returned. The problems are in the order of their places. Lost are sentences about what
// stops nothing.
func (e *Evaluation) checkSuite(s *suite.Suite, targets func(*suite.Test) ([]string, error),
	each func(t *suite.Test, targets []string, err error)) (problems source.Problems, lost []string, err error) {
	if problems, err = unmet(s, targets); err != nil {
		return nil, nil, err
	}
	stray, err := e.strayNodes(s, targets)
	if err != nil {
		return nil, nil, err
	}
	placed := e.placement(s)
	for t, err := range s.Tests() {
		if err != nil {
			return nil, nil, source.AsInvalid(err)
		}
		names, err := targets(t)
		if err == nil { // else a run that chooses the test reports it
			placed.add(t, names)
		}
		each(t, names, err)
	}
	problems = slices.Concat(problems, stray, placed.problems)
	slices.SortStableFunc(problems, func(a, b source.Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), a.Line-b.Line, a.Column-b.Column)
	})
	return problems, placed.lost, nil
}
