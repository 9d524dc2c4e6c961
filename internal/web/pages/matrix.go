package pages

import (
	"math"
	"net/http"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/run/runindex"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/web/pages/frame"
)

// matrixParameters are the parameters of the matrix of a run.
var matrixParameters = append([]string{"base", "show", "page", "per"}, listParameters...)

// matrixPage shows the tests of a run against its targets.
type matrixPage struct {
	frame.Page
	ID      string
	Query   frame.Query
	Base    string
	Targets []matrixTarget
	List    frame.List
	Rows    []matrixRow
	Against []metricsOfTarget
}

// matrixTarget is a column with its figures.
type matrixTarget struct {
	Name    string
	Figures []frame.Figure
}

// matrixRow is a test of a suite with its verdicts.
type matrixRow struct {
	Suite, ID string
	Cells     []matrixCell
}

// matrixCell is a test with one target; without a record its verdict is empty.
type matrixCell struct {
	Target  string
	Verdict result.Verdict
	Score   string
	Address string
}

// matrix answers with the tests of a run against its targets.
func (p *Pages) matrix(w http.ResponseWriter, r *http.Request) {
	run, index := p.found(w, r)
	if run == nil {
		return
	}
	id := run.Record.ID
	address := addressOfRun(id)
	page := matrixPage{
		Page: p.frame.Base(r, "matrix", "Tests by target"), ID: id,
		Query: frame.QueryOf(r, address+"/matrix", matrixParameters...),
	}
	page.Trail = []frame.Link{{Label: "Runs", Address: "/runs"}, {Label: "Run " + id, Address: address, Up: true}}
	page.Warnings = warningsOf(index)
	targets := slices.Clone(p.made.of(index).Targets)
	slices.SortStableFunc(targets, func(a, b string) int {
		return indexOf(index.Run.Targets, a) - indexOf(index.Run.Targets, b)
	})
	page.Base = page.Query.Get("base")
	if !slices.Contains(targets, page.Base) && len(targets) > 0 {
		page.Base = targets[0]
	}
	byTarget := index.ByTarget()
	for _, name := range targets {
		of, ok := byTarget[name]
		if !ok {
			of.GroupResult = result.GroupResult{Totals: index.Run.Totals, PassRate: index.Run.PassRate}
		}
		page.Targets = append(page.Targets, matrixTarget{name, figuresOf(index, name, of)})
		if name == page.Base {
			continue
		}
		a, b := side{Found: run, Index: index, Target: page.Base}, side{Found: run, Index: index, Target: name}
		page.Against = append(page.Against, metricsOfTarget{p.metrics.of(a, b, true).metrics, name, "Tests"})
	}
	book, warnings := p.book(r.Context(), run)
	page.Warnings = append(page.Warnings, warnings...)
	chosen := choose(r.Context(), page.Query, run.Run, index, book)
	if chosen.err != nil {
		p.anew(w, r)
		return
	}
	rows := matrixRows(chosen.tests)
	if page.Query.Get("show") == "different" {
		rows = slices.DeleteFunc(rows, func(r matrixRow) bool { return !r.differs(index, targets) })
	}
	var first, last int
	page.List, first, last = page.Query.Page("tests", len(rows))
	page.Rows = rows[first:last]
	var shown []*runindex.Entry
	for i := range page.Rows {
		shown = append(shown, page.Rows[i].cells(index, targets, id)...)
	}
	if !p.unchanged(w, r, run.Run, shown) {
		return
	}
	if len(rows) == 0 {
		page.List.Empty = "No test fits these filters, or the verdicts of none differ."
		for _, name := range append([]string{"show"}, listParameters...) {
			for _, value := range page.Query.Values[name] {
				page.List.Drop = append(page.List.Drop, frame.Link{
					Label: "Drop " + name + "=" + text.OneLine(value, 80), Address: page.Query.With(name, ""),
				})
			}
		}
	}
	p.frame.Show(w, http.StatusOK, "matrix", page)
}

// indexOf returns where a name stands in a list; its end for one that does not.
func indexOf(list []string, name string) int {
	if i := slices.Index(list, name); i >= 0 {
		return i
	}
	return len(list)
}

// figuresOf are the figures of a column.
func figuresOf(index *runindex.Index, target string, of result.TargetResult) []frame.Figure {
	latency, turns := 0.0, 0
	for _, e := range index.Tests {
		if e.Target != target {
			continue
		}
		rows := e.Of
		if e.Trials == nil {
			rows = []*runindex.Row{e.Row}
		}
		for _, row := range rows {
			latency, turns = latency+row.LatencyMS, turns+row.Turns
		}
	}
	took := frame.Figure{Name: "latency_ms", Label: "Latency of a turn", Value: "unknown"}
	if turns > 0 && !math.IsNaN(latency) {
		took.Value, took.Data = text.Milliseconds(latency/float64(turns)), frame.Plain(latency/float64(turns))
	}
	figures := []frame.Figure{
		rateFigure(of.Totals, of.PassRate), meanFigure(of.Totals), took, costFigure(of.Totals.Cost),
	}
	for i := range figures {
		figures[i].Target = target
	}
	return figures
}

// matrixRows gathers the tests that were chosen, in their order, without their cells.
func matrixRows(chosen []*runindex.Entry) (rows []matrixRow) {
	type name struct{ suite, id string }
	seen := make(map[name]bool, len(chosen))
	for _, e := range chosen {
		if key := (name{e.Suite, e.TestID}); !seen[key] {
			seen[key] = true
			rows = append(rows, matrixRow{Suite: e.Suite, ID: e.TestID})
		}
	}
	return rows
}

// differs reports whether the verdicts of a test are not the same with all targets. One that was not held is a verdict
// of its own.
func (r matrixRow) differs(index *runindex.Index, targets []string) bool {
	verdict := func(target string) (v result.Verdict) {
		if e := index.Find(runindex.Test{Suite: r.Suite, ID: r.ID, Target: target}); e != nil && e.Position >= 0 {
			v = e.Verdict
		}
		return v
	}
	return slices.ContainsFunc(targets, func(target string) bool { return verdict(target) != verdict(targets[0]) })
}

// cells fills in the cells of a row: one for each target, also where not this one was chosen. An empty cell is a test
// that was not held. It returns the tests that were.
func (r *matrixRow) cells(index *runindex.Index, targets []string, run string) (held []*runindex.Entry) {
	for _, target := range targets {
		cell := matrixCell{Target: target}
		key := runindex.Test{Suite: r.Suite, ID: r.ID, Target: target}
		if e := index.Find(key); e != nil && e.Position >= 0 {
			cell = matrixCell{target, e.Verdict, scoreOf(e.Verdict, e.Row.Score), addressOfTest(run, key, nil, "")}
			held = append(held, e)
		}
		r.Cells = append(r.Cells, cell)
	}
	return held
}
