package evaluation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// unmet reports dependencies of a suite that no target can satisfy: a test waits for the record that another one has
// with the same target, and that other test is not held with it. No names mean that a test could be held with any
// target.
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
		missing := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
			return slices.Contains(heldWith[on], name)
		})
		if len(missing) == 0 {
			return "", nil
		}
		return fmt.Sprintf("%q is held with %s and depends on %q, which is held with %s", t.ID,
			strings.Join(missing, ", "), on, strings.Join(heldWith[on], ", ")), nil
	})
}
