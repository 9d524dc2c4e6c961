package report

import (
	"cmp"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// inRunOrder sorts tests as the run lists them: suites as given, tests as in their file, targets as given. What the
// records do not say is decided by the order in which tests ended.
func inRunOrder(run result.Run, s *survey, tests []*entry) {
	targets := map[string]int{}
	for i, name := range run.Targets {
		targets[name] = i + 1
	}
	ended := make(map[string]int, len(s.suites))
	for i, suite := range s.suites {
		ended[suite.name] = i
	}
	slices.SortStableFunc(tests, func(a, b *entry) int {
		return cmp.Or(
			cmp.Compare(placed(a.position), placed(b.position)), ended[a.suite]-ended[b.suite],
			given(targets, a.target)-given(targets, b.target), a.nth-b.nth,
		)
	})
}

// placed makes a place that is not known the last.
func placed(position int) uint { return uint(position - 1) }

// given returns the place of a name that the run gives; the others come behind.
func given(places map[string]int, name string) int {
	if place := places[name]; place > 0 {
		return place
	}
	return len(places) + 1
}
