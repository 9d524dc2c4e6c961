package pages

import (
	"net/http"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/run/annotation"
	"github.com/rehearse-dev/rehearse/internal/run/compare"
	"github.com/rehearse-dev/rehearse/internal/run/runindex"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/web/pages/frame"
)

// compareParameters are the parameters of the page that compares two runs.
var compareParameters = []string{
	"a", "b", "a_target", "b_target", "ignore_target", "change", "suite", "target", "q", "reviewed", "page", "per",
}

// comparePage is what changed from one run to another.
type comparePage struct {
	frame.Page
	A, B         side
	Query        frame.Query
	Remarks      []string
	Sections     []section
	List         frame.List
	Empty        string
	Links        []frame.Link
	Targets      []string
	IgnoreTarget bool
	Metrics      []metric
	// Verdict is that of the mean score.
	Verdict string
}

// side is one of the two runs: with a target, its tests with this one alone.
type side struct {
	*runindex.Found
	Index           *runindex.Index
	ID, Target      string
	Address         string
	Started, Headed string
	// book decides over the machine's verdicts; nil where they stand.
	book *annotation.Book
}

// compare answers with what changed from a run to another.
func (p *Pages) compare(w http.ResponseWriter, r *http.Request) {
	page := comparePage{
		Page: p.frame.Base(r, "compare", "Compare"), Query: frame.QueryOf(r, "/compare", compareParameters...),
	}
	page.Trail = []frame.Link{{Label: "Runs", Address: "/runs", Up: true}}
	if !p.sides(w, r, &page) {
		return
	}
	if page.Empty != "" {
		p.frame.Show(w, http.StatusOK, "compare", page)
		return
	}
	made := p.metrics.of(page.A, page.B, page.IgnoreTarget)
	found := made.lists
	if made.err != nil {
		page.Empty = "These runs cannot be compared: " + text.OneLine(made.err.Error(), 400)
		if source.IsInvalid(made.err) {
			page.Empty = "A run with several targets is compared with its targets, or by one target of each: " +
				"choose them above."
		}
		p.frame.Show(w, http.StatusOK, "compare", page)
		return
	}
	page.Metrics, page.Verdict = made.metrics, found.Verdict
	page.remarks(found, made.prints)
	if err := page.lists(r.Context(), found); err != nil {
		p.anew(w, r)
		return
	}
	if !p.unchanged(w, r, page.A.Run, page.shown(page.A)) || !p.unchanged(w, r, page.B.Run, page.shown(page.B)) {
		return
	}
	p.frame.Show(w, http.StatusOK, "compare", page)
}

// sides finds the two runs. It reports whether the page goes on; else it has been answered.
func (p *Pages) sides(w http.ResponseWriter, r *http.Request, page *comparePage) bool {
	q := page.Query
	a, b := q.Get("a"), q.Get("b")
	if ticked := r.URL.Query()["run"]; a == "" && b == "" && len(ticked) >= 2 {
		a, b = p.byAge(ticked[0], ticked[1])
	}
	if b == "" {
		b = runindex.Latest
	}
	later := p.Runs.Find(b)
	if later == nil {
		if b == runindex.Latest {
			page.Empty = "There are no runs yet. `rehearse run SUITE` makes one; two of them can be compared."
			return true
		}
		p.frame.NotFound(w, r, "There is no run of the id of b here.", p.newest(5)...)
		return false
	}
	earlier := p.Runs.Find(a)
	if a == "" && q.Get("a_target")+q.Get("b_target") != "" {
		earlier = later // two targets of one run
	} else if a == "" {
		earlier = p.baseline(later)
	} else if earlier == nil {
		p.frame.NotFound(w, r, "There is no run of the id of a here.", p.newest(5)...)
		return false
	}
	page.Links = p.newest(20)
	if earlier == nil {
		page.Empty = "There is no earlier run of the same suites to compare run " + later.Record.ID +
			" with. `rehearse run` the suites again, or choose one: /compare?a=RUN&b=" + later.Record.ID
		return true
	}
	page.IgnoreTarget = q.Get("ignore_target") == "1" || q.Get("a_target") != "" || q.Get("b_target") != ""
	_, _, _ = later.Await(r.Context(), 0) // begins to read it, beside the other one
	for _, s := range []struct {
		into   *side
		run    *runindex.Found
		target string
	}{{&page.A, earlier, q.Get("a_target")}, {&page.B, later, q.Get("b_target")}} {
		index := p.indexOf(w, r, s.run)
		if index == nil {
			return false
		}
		*s.into = side{
			Found: s.run, Index: index, ID: s.run.Record.ID, Target: s.target, Address: addressOfRun(s.run.Record.ID),
			Started: when(s.run.Record.StartedAt), Headed: headline(index.Run),
		}
		if q.Get("reviewed") == "1" {
			var warnings []string
			s.into.book, warnings = p.book(r.Context(), s.run)
			page.Warnings = append(page.Warnings, warnings...)
		}
		page.Targets = union(page.Targets, s.run.Record.Targets)
		page.Warnings = append(page.Warnings, warningsOf(index)...)
	}
	return true
}

// byAge returns two ids of runs, the older one first.
func (p *Pages) byAge(one, other string) (a, b string) {
	x, y := p.Runs.Find(one), p.Runs.Find(other)
	if x != nil && y != nil && x.Record.StartedAt.After(y.Record.StartedAt) {
		return other, one
	}
	return one, other
}

// baseline returns the newest earlier run of the same suites; nil if there is none.
func (p *Pages) baseline(of *runindex.Found) *runindex.Found {
	all, _ := p.Runs.Runs()
	at := slices.IndexFunc(all, func(run *runindex.Found) bool { return run.Record.ID == of.Record.ID })
	for _, run := range all[at+1:] {
		if slices.Equal(run.Record.Suites, of.Record.Suites) {
			return run
		}
	}
	return nil
}

// compared returns the run as a comparison reads it, with the verdicts after review where they are asked for. The
// figures of what the comparison has read are in read, in its order; those of a trial are none.
func (s side) compared(read *[]measures) compare.Side {
	run := s.Index.Run
	if s.Target != "" {
		run.Targets, run.ByTarget = []string{s.Target}, nil
		if of, ok := s.Index.Run.ByTarget[s.Target]; ok {
			run.Totals = of.Totals
		}
		other := func(k result.Key) bool { return k.Target != s.Target }
		run.NotRun = slices.DeleteFunc(slices.Clone(run.NotRun), other)
		run.LeftOut = slices.DeleteFunc(slices.Clone(run.LeftOut), other)
	}
	return compare.Side{Run: run, Tests: func(yield func(*result.Test, error) bool) {
		*read = make([]measures, 0, len(s.Index.Tests))
		for t, figures := range s.Index.Records {
			if s.Target != "" && t.Target != s.Target {
				continue
			}
			if s.book != nil && figures != nil {
				t.Verdict = s.book.Verdict(t.Key(), t.Verdict)
			}
			if *read = append(*read, measures{figures, t.Verdict, t.Target}); !yield(t, nil) {
				return
			}
		}
	}}
}

// remarks says what limits the comparison: runs that did not come to their end, and what else than the agent is not the
// same.
func (p *comparePage) remarks(found *result.Comparison, prints int) {
	if remark := compare.Unmatched(found); remark != "" {
		p.Remarks = append(p.Remarks, text.Capital(strings.ReplaceAll(remark, "--ignore-target", "ignore_target=1"))+
			".")
	}
	for _, s := range []struct {
		name string
		of   side
	}{{"baseline", p.A}, {"candidate", p.B}} {
		if s.of.Index.Run.Stopped() {
			p.Remarks = append(p.Remarks, "The "+s.name+" did not come to its end: "+s.of.Headed+".")
		}
	}
	a, b := p.A.Index.Run, p.B.Index.Run
	differ := func(what, one, other string) {
		if one != other {
			p.Remarks = append(p.Remarks, "The "+what+" changed: "+named(one)+", then "+named(other)+".")
		}
	}
	differ("suite", strings.Join(a.Suites, ", "), strings.Join(b.Suites, ", "))
	differ("judge", a.Judge, b.Judge)
	if p.A.Target != "" || p.B.Target != "" {
		differ("target", p.A.Target, p.B.Target)
	} else {
		differ("target", strings.Join(a.Targets, ", "), strings.Join(b.Targets, ", "))
	}
	if prints > 0 && a.Judge == b.Judge {
		p.Remarks = append(p.Remarks, "Of "+text.Plural(prints, "test")+
			" the suite or the settings of the target or the judge changed between the two.")
	}
}

func named(s string) string {
	if s == "" {
		return "none"
	}
	return text.OneLine(s, 200)
}
