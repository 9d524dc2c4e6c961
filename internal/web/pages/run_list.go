package pages

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/run/annotation"
	"github.com/rehearse-dev/rehearse/internal/run/runindex"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/web/pages/frame"
)

// runParameters are the parameters of the page of a run; listParameters are those that choose and order its tests.
var (
	listParameters = []string{
		"q", "verdict", "code", "suite", "target", "tag", "grader", "class", "review", "group", "sort",
	}
	runParameters = append(slices.Clone(listParameters), "page", "per")
)

// ofList returns the parameters that choose and order tests.
func ofList(values url.Values) url.Values { return frame.Only(values, listParameters...) }

// chosen are the tests of a list in its order.
type chosen struct {
	tests   []*runindex.Entry
	filters filters[*runindex.Entry]
	grouped string
	counts  map[string]int
	// err is why words could not be looked for: then the list says nothing.
	err error
}

// choose returns the tests that fit a query, in the order that it asks for.
func choose(ctx context.Context, q frame.Query, run *runindex.Run, index *runindex.Index,
	book *annotation.Book) chosen {
	c := chosen{grouped: q.Get("group")}
	c.filters, c.err = testFilters(ctx, q, run, index, book)
	c.tests = index.Tests
	if len(c.filters) > 0 {
		c.tests = nil
		for _, e := range index.Tests {
			if c.filters.all(e, "") {
				c.tests = append(c.tests, e)
			}
		}
	}
	c.tests = ordered(c.tests, q.Get("sort"))
	if !slices.Contains([]string{"suite", "target", "code", "tag"}, c.grouped) {
		c.grouped = ""
		return c
	}
	c.counts = map[string]int{}
	places := map[string]int{}
	for _, e := range c.tests {
		group := c.group(e)
		if c.counts[group]++; c.counts[group] == 1 {
			places[group] = len(places)
		}
	}
	c.tests = slices.Clone(c.tests)
	slices.SortStableFunc(c.tests, func(a, b *runindex.Entry) int {
		one, two := c.group(a), c.group(b)
		// those without one come last
		return cmp.Or(compareBool(one == "", two == ""), cmp.Compare(places[one], places[two]))
	})
	return c
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// group returns the group of a test: of several codes or tags the first.
func (c *chosen) group(e *runindex.Entry) string {
	switch {
	case c.grouped == "suite":
		return e.Suite
	case c.grouped == "target":
		return e.Target
	case c.grouped == "code" && len(e.Codes) > 0:
		return string(e.Codes[0])
	case c.grouped == "tag" && len(e.Tags) > 0:
		return e.Tags[0]
	}
	return ""
}

// ordered returns tests in the order of a sort parameter; those of one rank, and all without a parameter, in the run's
// own.
func ordered(tests []*runindex.Entry, sort string) []*runindex.Entry {
	switch sort {
	case "suite":
		tests = slices.Clone(tests)
		slices.SortStableFunc(tests, func(a, b *runindex.Entry) int { return cmp.Compare(a.Suite, b.Suite) })
	case "test":
		tests = slices.Clone(tests)
		slices.SortStableFunc(tests, func(a, b *runindex.Entry) int { return cmp.Compare(a.TestID, b.TestID) })
	case "score":
		return byNumber(tests, func(e *runindex.Entry) (float64, bool) { return e.Score, e.Verdict.Graded() })
	case "-score":
		return byNumber(tests, func(e *runindex.Entry) (float64, bool) { return -e.Score, e.Verdict.Graded() })
	case "-duration":
		return byNumber(tests, func(e *runindex.Entry) (float64, bool) {
			return -e.DurationMS, e.Verdict != result.Skip
		})
	case "-cost":
		return byNumber(tests, func(e *runindex.Entry) (float64, bool) {
			return -e.Cost.USD, !e.Cost.Unknown && e.Verdict != result.Skip
		})
	}
	return tests
}

// byNumber returns tests in the order of a number; those without one come last. The numbers are gathered first: to
// follow each test at each comparison takes three times as long.
func byNumber(tests []*runindex.Entry, number func(*runindex.Entry) (float64, bool)) []*runindex.Entry {
	type ranked struct {
		number  float64
		indexOf int
		known   bool
	}
	ranks := make([]ranked, len(tests))
	for i, e := range tests {
		n, known := number(e)
		if !known {
			n = 0 // what a record says beside is no rank
		}
		ranks[i] = ranked{n, i, known}
	}
	slices.SortFunc(ranks, func(a, b ranked) int {
		return cmp.Or(compareBool(!a.known, !b.known), cmp.Compare(a.number, b.number), a.indexOf-b.indexOf)
	})
	inOrder := make([]*runindex.Entry, len(tests))
	for i, r := range ranks {
		inOrder[i] = tests[r.indexOf]
	}
	return inOrder
}

// testFilters are the filters of a run's tests.
func testFilters(ctx context.Context, q frame.Query, run *runindex.Run, index *runindex.Index,
	book *annotation.Book) (fs filters[*runindex.Entry], err error) {
	equal := func(name string, of func(*runindex.Entry) string) {
		fs.add(q, name, func(e *runindex.Entry, value string) bool { return of(e) == value })
	}
	equal("verdict", func(e *runindex.Entry) string { return string(e.Verdict) })
	equal("suite", func(e *runindex.Entry) string { return e.Suite })
	equal("target", func(e *runindex.Entry) string { return e.Target })
	equal("class", func(e *runindex.Entry) string { return e.Class() })
	equal("review", func(e *runindex.Entry) string {
		if a := book.OfTest(e.Suite, e.TestID, e.Target); a != nil {
			return a.Verdict
		}
		return ""
	})
	fs.add(q, "code", func(e *runindex.Entry, value string) bool {
		return slices.Contains(e.Codes, result.Code(value))
	})
	fs.add(q, "tag", func(e *runindex.Entry, value string) bool { return slices.Contains(e.Tags, value) })
	fs.add(q, "grader", func(e *runindex.Entry, value string) bool { return hasGrader(e, value) })
	if words := q.Values["q"]; len(words) > 0 {
		stand, err := matching(ctx, run, index, words)
		if err != nil {
			return nil, err
		}
		fs = append(fs, filter[*runindex.Entry]{"q", func(e *runindex.Entry) bool {
			return stand(runindex.Test{Suite: e.Suite, ID: e.TestID, Target: e.Target})
		}})
	}
	return fs, nil
}

// matching returns whether the words of one of several questions stand in a test.
func matching(ctx context.Context, run *runindex.Run, index *runindex.Index,
	questions []string) (func(runindex.Test) bool, error) {
	var found []map[runindex.Test]bool
	for _, q := range questions {
		tests, err := run.Matching(ctx, index, q)
		if err != nil {
			return nil, err
		}
		found = append(found, tests)
	}
	return func(key runindex.Test) bool {
		return slices.ContainsFunc(found, func(tests map[runindex.Test]bool) bool { return tests[key] })
	}, nil
}

// hasGrader reports whether a grader decided something in a test or in one of its trials.
func hasGrader(e *runindex.Entry, name string) bool {
	return slices.Contains(e.Graders, name) || slices.ContainsFunc(e.Of, func(r *runindex.Row) bool {
		return slices.Contains(r.Graders, name)
	})
}

// chosenBy says in words what a query chooses; empty for all tests.
func chosenBy(values url.Values) string {
	var words []string
	for _, name := range listParameters {
		if name != "sort" && name != "group" && len(values[name]) > 0 {
			words = append(words, name+" "+strings.Join(values[name], " or "))
		}
	}
	return strings.Join(words, ", ")
}
