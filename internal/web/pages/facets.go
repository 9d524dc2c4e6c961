package pages

import (
	"cmp"
	"slices"
	"sync"

	"github.com/rehearse-dev/rehearse/internal/run/runindex"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// facets are what a run's page offers to choose from, and figures that need a pass over all tests.
type facets struct {
	Suites, Targets, Tags, Graders []string
	flaky                          int
	flakyOf                        map[string]int
	// withCode counts the tests with a failure code, which may have it more than once.
	withCode           map[result.Code]int
	slowest, costliest []*runindex.Entry
}

// facetsOfRuns keeps the facets of indexes. It is safe for concurrent use; the zero value is empty.
type facetsOfRuns struct {
	mu         sync.Mutex
	cacheTimes map[*runindex.Index]*facets
}

// maxFacets bounds how many facets are kept.
const maxFacets = 16

// of returns the facets of an index.
func (m *facetsOfRuns) of(index *runindex.Index) *facets {
	m.mu.Lock()
	defer m.mu.Unlock()
	if f := m.cacheTimes[index]; f != nil {
		return f
	}
	if len(m.cacheTimes) >= maxFacets || m.cacheTimes == nil {
		m.cacheTimes = map[*runindex.Index]*facets{}
	}
	f := facetsOf(index)
	m.cacheTimes[index] = f
	return f
}

// topTests is how many of the slowest and costliest tests are named.
const topTests = 5

func facetsOf(index *runindex.Index) *facets {
	f := &facets{flakyOf: map[string]int{}, withCode: map[result.Code]int{}}
	suites, targets, tags, graders := set{}, set{}, set{}, set{}
	for _, e := range index.Tests {
		suites.add(&f.Suites, e.Suite)
		targets.add(&f.Targets, e.Target)
		tags.add(&f.Tags, e.Tags...)
		graders.add(&f.Graders, e.Graders...)
		for _, code := range e.Codes {
			f.withCode[code]++
		}
		if e.Class() == "flaky" {
			f.flaky++
			f.flakyOf[e.Target]++
		}
	}
	slices.Sort(f.Tags)
	slices.Sort(f.Graders)
	f.slowest = top(index.Tests, func(e *runindex.Entry) float64 { return e.DurationMS })
	f.costliest = top(index.Tests, func(e *runindex.Entry) float64 {
		if e.Cost.Unknown {
			return 0
		}
		return e.Cost.USD
	})
	return f
}

// set remembers what was added.
type set map[string]bool

// maxChoices bounds what is offered to choose from.
const maxChoices = 200

func (s set) add(list *[]string, values ...string) {
	for _, value := range values {
		if value != "" && !s[value] && len(*list) < maxChoices {
			s[value] = true
			*list = append(*list, value)
		}
	}
}

// top returns the tests with the largest numbers above 0.
func top(tests []*runindex.Entry, number func(*runindex.Entry) float64) (most []*runindex.Entry) {
	for _, e := range tests {
		if e.Verdict == result.Skip || number(e) <= 0 ||
			len(most) == topTests && number(e) <= number(most[topTests-1]) {
			continue
		}
		at, _ := slices.BinarySearchFunc(most, e, func(a, b *runindex.Entry) int {
			return -cmp.Compare(number(a), number(b))
		})
		for at < len(most) && number(most[at]) == number(e) {
			at++
		}
		most = slices.Insert(most, at, e)
		most = most[:min(len(most), topTests)]
	}
	return most
}
