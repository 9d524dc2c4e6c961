package evaluation

import (
	"fmt"
	"slices"
	"strings"

	"rehearse/internal/setup"
	"rehearse/internal/source"
	"rehearse/internal/suite"
)

// unmet reports dependencies that no target can satisfy: a test waits for the record that another one has with the same target, and that other
// test is not held with it. The targets are those that the spec, the suites and the configurations settle.
func (e *Evaluation) unmet() error {
	var problems source.Problems
	for _, s := range e.suites {
		found, err := unmet(s, func(t *suite.Test) ([]string, error) {
			t.Execution = e.execution(s, t.Execution)
			return e.targetNames(s, t)
		})
		if err != nil {
			return err
		}
		problems = append(problems, found...)
	}
	return problems.Err()
}

// Unmet returns, as source.Problems, the dependencies of a loaded suite that no target can satisfy as long as the command line names no target;
// at is the setup of the suite's folder. A test whose target is not settled could be held with any.
func Unmet(at *setup.Setup, s *suite.Suite) error {
	e := &Evaluation{setups: map[string]*setup.Setup{s.Name: at}}
	problems, err := unmet(s, func(t *suite.Test) ([]string, error) {
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

// unmet checks one suite. No names mean that a test could be held with any target.
func unmet(s *suite.Suite, targets func(*suite.Test) ([]string, error)) (source.Problems, error) {
	if len(s.Needed) == 0 {
		return nil, nil
	}
	heldWith := map[string][]string{}
	for t, err := range s.Tests() {
		if err != nil {
			return nil, source.AsInvalid(err)
		}
		if !s.Needed[t.ID] {
			continue
		}
		if heldWith[t.ID], err = targets(t); err != nil {
			return nil, err
		}
	}
	return s.CheckDependencies(func(t *suite.Test, on string) (string, error) {
		names, err := targets(t)
		if err != nil || len(heldWith[on]) == 0 {
			return "", err
		}
		missing := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(heldWith[on], name) })
		if len(missing) == 0 {
			return "", nil
		}
		return fmt.Sprintf("%q is held with %s and depends on %q, which is held with %s", t.ID, strings.Join(missing, ", "), on, strings.Join(heldWith[on], ", ")), nil
	})
}
