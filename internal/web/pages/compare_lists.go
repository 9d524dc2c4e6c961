package pages

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/run/runindex"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/web/pages/frame"
)

// section is one of the lists of a comparison.
type section struct {
	Name, Label string
	Verdict     result.Verdict
	Count       int
	// From and To are the places of the rows that are shown, from 1; 0 without rows.
	From, To int
	Rows     []changeRow
	// More is the address of the whole list where not all of it is shown.
	More string
}

// changeRow is a test in two runs.
type changeRow struct {
	result.Change
	List, Address  string
	ScoreA, ScoreB string
	// Mark says what a fall is where it is not confirmed.
	Mark string
}

// sections are the lists of a comparison in the order in which they are shown.
var sections = []struct {
	name, label string
	verdict     result.Verdict
	of          func(*result.Comparison) []result.Change
}{
	{"regressed", "Regressed", result.Fail, func(c *result.Comparison) []result.Change {
		return slices.Concat(c.Regressed, c.Unconfirmed, c.WithinNoise)
	}},
	{"fixed", "Fixed", result.Pass, func(c *result.Comparison) []result.Change { return c.Fixed }},
	{"still_failing", "Still failing", result.Fail, func(c *result.Comparison) []result.Change {
		return c.StillFailing
	}},
	{"not_graded", "Not graded: error, skipped or ungraded", result.Error, func(c *result.Comparison) []result.Change {
		return c.NotGraded
	}},
	{"redefined", "Redefined, not compared", result.Skip, func(c *result.Comparison) []result.Change {
		return c.Redefined
	}},
	{"moved", "Passing, with another score", result.Pass, func(c *result.Comparison) []result.Change {
		return c.Moved
	}},
	{"new", "New", result.Skip, func(c *result.Comparison) []result.Change { return c.New }},
	{"gone", "Gone", result.Skip, func(c *result.Comparison) []result.Change { return c.Gone }},
	{"unchanged", "As good as before", result.Pass, func(c *result.Comparison) []result.Change { return c.Unchanged }},
}

// maxSection is how many tests of a list are shown beside other lists.
const maxSection = 100

// lists fills in the lists that fit the filters.
func (p *comparePage) lists(ctx context.Context, found *result.Comparison) error {
	chosen := p.Query.Values["change"]
	matching, err := p.matching(ctx)
	if err != nil {
		return err
	}
	marks := map[result.Key]string{}
	for _, c := range found.Unconfirmed {
		marks[c.Key()] = "not confirmed"
	}
	for _, c := range found.WithinNoise {
		marks[c.Key()] = "within noise"
	}
	for _, s := range sections {
		if len(chosen) > 0 && !slices.Contains(chosen, s.name) {
			continue
		}
		fitting := s.of(found)
		if matching != nil {
			fitting = nil
			for _, c := range s.of(found) {
				if matching(c) {
					fitting = append(fitting, c)
				}
			}
		}
		shown := section{Name: s.name, Label: s.label, Verdict: s.verdict, Count: len(fitting)}
		first, last := 0, min(len(fitting), maxSection)
		if len(chosen) == 1 {
			p.List, first, last = p.Query.Page("tests", len(fitting))
		} else if last < len(fitting) {
			shown.More = p.Query.With("change", s.name)
		}
		if first < last {
			shown.From, shown.To = first+1, last
		}
		for _, c := range fitting[first:last] {
			row := p.row(s.name, c)
			row.Mark = marks[c.Key()]
			shown.Rows = append(shown.Rows, row)
		}
		p.Sections = append(p.Sections, shown)
	}
	if !slices.ContainsFunc(p.Sections, func(s section) bool { return s.Count > 0 }) {
		p.List.Empty = "No test fits these filters."
		for _, name := range []string{"change", "suite", "target", "q"} {
			if values := p.Query.Values[name]; len(values) > 0 {
				p.List.Drop = append(p.List.Drop, frame.Link{
					Label:   "Drop " + name + "=" + text.OneLine(strings.Join(values, ", "), 80),
					Address: p.Query.With(name, ""),
				})
			}
		}
	}
	return nil
}

// matching returns whether a test fits the filters suite, target and q; nil where there is none, so that all do.
func (p *comparePage) matching(ctx context.Context) (func(result.Change) bool, error) {
	q := p.Query.Values
	if len(q["suite"])+len(q["target"])+len(q["q"]) == 0 {
		return nil, nil
	}
	chosen := func(c result.Change) bool {
		return (len(q["suite"]) == 0 || slices.Contains(q["suite"], c.Suite)) &&
			(len(q["target"]) == 0 || slices.Contains(q["target"], c.Target))
	}
	if len(q["q"]) == 0 {
		return chosen, nil
	}
	inA, err := matching(ctx, p.A.Run, p.A.Index, q["q"])
	if err != nil {
		return nil, err
	}
	inB, err := matching(ctx, p.B.Run, p.B.Index, q["q"])
	if err != nil {
		return nil, err
	}
	stands := func(c result.Change, target string) bool {
		of := runindex.Test{Suite: c.Suite, ID: c.TestID, Target: target}
		return inA(of) || inB(of)
	}
	return func(c result.Change) bool {
		if !chosen(c) {
			return false
		}
		return stands(c, c.Target) || p.A.Target != "" && stands(c, p.A.Target) ||
			p.B.Target != "" && stands(c, p.B.Target)
	}, nil
}

// shown returns the tests of a run that the lists show.
func (p *comparePage) shown(of side) (tests []*runindex.Entry) {
	for _, s := range p.Sections {
		for _, c := range s.Rows {
			targets := []string{c.Target}
			if of.Target != "" {
				targets = []string{of.Target}
			} else if p.IgnoreTarget {
				targets = of.Index.Run.Targets // it has one
			}
			for _, target := range targets {
				if e := of.Index.Find(runindex.Test{Suite: c.Suite, ID: c.TestID, Target: target}); e != nil {
					tests = append(tests, e)
				}
			}
		}
	}
	return tests
}

func (p *comparePage) row(list string, c result.Change) changeRow {
	row := changeRow{Change: c, List: list}
	if c.WasScore != nil {
		row.ScoreA = frame.Plain(*c.WasScore)
	}
	if c.NowScore != nil {
		row.ScoreB = frame.Plain(*c.NowScore)
	}
	values := url.Values{
		"a":        {p.A.ID},
		"b":        {p.B.ID},
		"a_target": {p.A.Target},
		"b_target": {p.B.Target},
		"suite":    {c.Suite},
	}
	if !p.IgnoreTarget {
		values.Set("target", c.Target)
	}
	row.Address = frame.Address("/compare/tests/"+frame.Segment(c.TestID),
		frame.Only(values, "a", "b", "a_target", "b_target", "suite", "target"))
	return row
}
