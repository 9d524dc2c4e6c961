package pages

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/report"
	"github.com/rehearse-dev/rehearse/internal/run/annotation"
	"github.com/rehearse-dev/rehearse/internal/run/runindex"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/web/pages/frame"
)

// runPage is a run with its tests.
type runPage struct {
	frame.Page
	ID            string
	State, Reason string
	Verdict       result.Verdict
	Headline      string
	Run           result.Run
	GoOn          string
	Figures       []frame.Figure
	Targets       []targetFigures
	Codes         []codeRow
	CodesLeft     int // codes that are not shown, each seldom
	Slowest       []extreme
	Costliest     []extreme
	Query         frame.Query
	Facets        *facets
	List          frame.List
	Rows          []testRow
	Pending       []pendingRow
	PendingLeft   int
	PendingTotal  int
}

// targetFigures are the figures of one of several targets.
type targetFigures struct {
	Name    string
	Figures []frame.Figure
}

// codeRow is a failure code with how often it was found.
type codeRow struct {
	Code  result.Code
	Count int
	// Tests is how many tests have it.
	Tests   int
	Meaning string
	Address string
}

// extreme is a test that took long or cost much.
type extreme struct {
	Name, Target, Address, Value string
}

// testRow is a test in the list.
type testRow struct {
	*runindex.Entry
	Address string
	Score   string
	Took    string
	Cost    string
	// Group is the heading above the row, where it begins one; GroupCount is how many tests stand under it.
	Group      string
	GroupCount int
	Trials     []trialLink
	// Review is the verdict after review; empty where nobody has decided over the machine.
	Review result.Verdict
}

type trialLink struct {
	Number  int
	Verdict result.Verdict
	Address string
}

// pendingRow is a test that was planned and not held.
type pendingRow struct {
	*runindex.Entry
	Address   string
	Completed int
}

// maxPending is how many tests that were not run are named.
const maxPending = 200

// run answers with a run.
func (p *Pages) run(w http.ResponseWriter, r *http.Request) {
	run, index := p.found(w, r)
	if run == nil {
		return
	}
	of := index.Run
	of.ID = run.Record.ID
	address := addressOfRun(of.ID)
	page := runPage{
		Page: p.frame.Base(r, "run", "Run "+of.ID), ID: of.ID, Verdict: verdictOf(of), Headline: headline(of), Run: of,
		Query: frame.QueryOf(r, address, runParameters...), Facets: p.made.of(index),
	}
	page.Trail = []frame.Link{{Label: "Runs", Address: "/runs", Up: true}}
	page.State, page.Reason = stateOf(of)
	page.Warnings = append(append(twin(run), warningsOf(index)...), of.Warnings...)
	if page.State == "interrupted" {
		page.GoOn = isRunning(of, run.Dir)
	}
	if page.State != "finished" { // one that waits begins, and one that was interrupted may go on
		page.Events = address + "/events"
	}
	book, warnings := p.book(r.Context(), run)
	page.Warnings = append(page.Warnings, warnings...)
	page.figures(index)
	page.reviewed(index, book)
	chosen := choose(r.Context(), page.Query, run.Run, index, book)
	if chosen.err != nil {
		p.anew(w, r)
		return
	}
	var first, last int
	page.List, first, last = page.Query.Page("tests", len(chosen.tests))
	if !p.unchanged(w, r, run.Run, chosen.tests[first:last]) {
		return
	}
	page.rows(chosen, first, last, book)
	switch {
	case len(index.Tests) == 0:
		page.List.Empty = "This run has no results yet."
		if page.State == "interrupted" {
			page.List.Empty = "This run ended before it had a result. Go on with it: " + page.GoOn
		}
	case len(chosen.tests) == 0:
		page.List.Empty, page.List.Drop = "No test fits these filters.",
			dropped(page.Query, chosen.filters, index.Tests)
	}
	page.pending(index)
	p.frame.Show(w, http.StatusOK, "run", page)
}

func headline(run result.Run) string {
	if run.ExitReason == "" {
		return "The run is waiting to begin"
	}
	said := text.OneLine(report.Headline(run), 300)
	// as a classifier whose thresholds are reached, or a gate on regressions alone
	if verdictOf(run) == result.Pass && run.Totals.Failed+run.Totals.Errors > 0 {
		said += ", and the run passed by its own gate"
	}
	return said
}

// warningsOf counts the records of a run that are not shown.
func warningsOf(index *runindex.Index) (warnings []string) {
	if n := index.Unreadable; n > 0 {
		warnings = append(warnings, text.Plural(n, "record")+" of this run cannot be read and count nowhere below.")
	}
	if n := index.Missing; n > 0 {
		warnings = append(warnings, text.Plural(n, "record")+" that the run counts are missing from its results.")
	}
	return warnings
}

// figures fills in what stands above the list.
func (p *runPage) figures(index *runindex.Index) {
	of := index.Run
	of.ByTarget = index.ByTarget()
	p.Figures = totals(of.Totals)
	if several := len(of.ByTarget) > 1; !several {
		p.Figures = append(p.Figures, rateFigure(of.Totals, of.PassRate), meanFigure(of.Totals))
	}
	took := frame.Figure{Name: "duration_ms", Label: "Duration", Value: "unknown"}
	if of.DurationMS > 0 || !of.EndedAt.IsZero() {
		took.Value, took.Data = text.Milliseconds(of.DurationMS), frame.Plain(of.DurationMS)
	}
	p.Figures = append(append(append(p.Figures, took), used(of.Totals)...), count("flaky", "Flaky", p.Facets.flaky))
	for _, name := range targetsOf(of) {
		t := of.ByTarget[name]
		figures := append(append(totals(t.Totals), rateFigure(t.Totals, t.PassRate), meanFigure(t.Totals)),
			used(t.Totals)...)
		figures = append(figures, count("flaky", "Flaky", p.Facets.flakyOf[name]))
		for i := range figures {
			figures[i].Target = name
		}
		p.Targets = append(p.Targets, targetFigures{name, figures})
	}
	for code, n := range of.Totals.Failures {
		p.Codes = append(p.Codes, codeRow{
			code, n, p.Facets.withCode[code], report.Meaning(code), p.Query.With("code", string(code)),
		})
	}
	slices.SortFunc(p.Codes, func(a, b codeRow) int { return cmp.Or(b.Count-a.Count, cmp.Compare(a.Code, b.Code)) })
	p.CodesLeft = max(0, len(p.Codes)-maxCodes)
	p.Codes = p.Codes[:len(p.Codes)-p.CodesLeft]
	for _, e := range p.Facets.slowest {
		p.Slowest = append(p.Slowest, extreme{
			e.TestID, e.Target,
			addressOfTest(p.ID, runindex.Test{Suite: e.Suite, ID: e.TestID, Target: e.Target}, nil, ""),
			text.Milliseconds(e.DurationMS),
		})
	}
	for _, e := range p.Facets.costliest {
		p.Costliest = append(p.Costliest, extreme{
			e.TestID, e.Target,
			addressOfTest(p.ID, runindex.Test{Suite: e.Suite, ID: e.TestID, Target: e.Target}, nil, ""),
			text.Dollars(e.Cost.USD),
		})
	}
}

// targetsOf returns the targets of a run that has several, in the order in which they were given.
func targetsOf(run result.Run) (names []string) {
	for _, name := range run.Targets {
		if _, ok := run.ByTarget[name]; ok {
			names = append(names, name)
		}
	}
	var others []string
	for name := range run.ByTarget {
		if !slices.Contains(names, name) {
			others = append(others, name)
		}
	}
	slices.Sort(others)
	return append(names, others...)
}

// rows fills in a page of the list.
func (p *runPage) rows(of chosen, first, last int, book *annotation.Book) {
	from := ofList(p.Query.Values).Encode()
	for i := first; i < last; i++ {
		e := of.tests[i]
		key := runindex.Test{Suite: e.Suite, ID: e.TestID, Target: e.Target}
		row := testRow{Entry: e, Address: addressOfTest(p.ID, key, nil, from), Score: scoreOf(e.Verdict, e.Row.Score)}
		if a := book.OfTest(e.Suite, e.TestID, e.Target); a != nil {
			row.Review = result.Verdict(a.Verdict)
		}
		if e.DurationMS > 0 {
			row.Took = text.Milliseconds(e.DurationMS)
		}
		if group := of.group(e); of.grouped != "" && (i == first || of.group(of.tests[i-1]) != group) {
			row.Group, row.GroupCount = cmp.Or(group, "none"), of.counts[group]
		}
		for _, t := range e.Of[:min(len(e.Of), maxTrials)] {
			row.Trials = append(row.Trials, trialLink{
				t.Trial, t.Verdict, addressOfTest(p.ID, key, []string{strconv.Itoa(t.Trial)}, from),
			})
		}
		p.Rows = append(p.Rows, row)
	}
}

// pending fills in the tests that were not run.
func (p *runPage) pending(index *runindex.Index) {
	p.PendingTotal = index.Run.Totals.NotRun
	for _, e := range index.Pending[:min(len(index.Pending), maxPending)] {
		row := pendingRow{Entry: e, Completed: len(e.Of)}
		if len(e.Of) > 0 {
			row.Address = addressOfTest(p.ID, runindex.Test{Suite: e.Suite, ID: e.TestID, Target: e.Target}, nil, "")
		}
		p.Pending = append(p.Pending, row)
	}
	p.PendingTotal = max(p.PendingTotal, len(p.Pending))
	p.PendingLeft = p.PendingTotal - len(p.Pending)
}

// maxCodes is how many failure codes a run's page lists. This program has fewer.
const maxCodes = 200

// maxMarks is how many tags and codes of a test a row shows. Its attributes have all codes.
const maxMarks = 20

// ShownTags are the tags that the row shows.
func (r testRow) ShownTags() []string { return r.Tags[:min(len(r.Tags), maxMarks)] }

// ShownCodes are the codes that the row shows.
func (r testRow) ShownCodes() []result.Code { return r.Codes[:min(len(r.Codes), maxMarks)] }

// PassedOf returns how many trials of a test passed, in words.
func (r testRow) PassedOf() string { return report.TrialsPassed(r.Row.Trials) }
