package pages

import (
	"cmp"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/agent/draw"
	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/replay/cover"
	"github.com/rehearse-dev/rehearse/internal/web/pages/frame"
)

// flowsPage lists flows: those that can be drawn, and those that have logged sessions.
type flowsPage struct {
	frame.Page
	Rows []flowRow
	List frame.List
}

type flowRow struct {
	ID, Address, Kind string
	Nodes, Sessions   int
}

// known returns the flows that can be drawn.
func (p *Pages) known(page *frame.Page) []*flow.Flow {
	if p.Flows == nil {
		return nil
	}
	flows, err := p.Flows()
	if err != nil {
		page.Warnings = append(page.Warnings, "The flows cannot be read: "+err.Error())
	}
	return flows
}

// flows answers with the list of flows.
func (p *Pages) flows(w http.ResponseWriter, r *http.Request) {
	page := flowsPage{Page: p.frame.Base(r, "flows", "Flows")}
	rows := map[string]flowRow{}
	for _, f := range p.known(&page.Page) {
		kind := "node flow"
		if f.Machine {
			kind = "state machine"
		}
		rows[f.ID] = flowRow{ID: f.ID, Kind: kind, Nodes: len(f.Nodes), Address: "/flows/" + frame.Segment(f.ID)}
	}
	store, ok := p.stored(w, r)
	if !ok {
		return
	}
	if store != nil {
		sessions, err := p.logged.list(r.Context(), store, p.Now)
		if err != nil {
			p.away(w, r, err)
			return
		}
		for _, s := range sessions.all {
			row, known := rows[s.Flow]
			if !known {
				row = flowRow{ID: s.Flow, Kind: "sessions only", Address: "/sessions?flow=" + url.QueryEscape(s.Flow)}
			}
			row.Sessions++
			rows[s.Flow] = row
		}
	}
	delete(rows, "")
	for _, id := range slices.Sorted(maps.Keys(rows)) {
		page.Rows = append(page.Rows, rows[id])
	}
	var first, last int
	page.List, first, last = frame.QueryOf(r, "/flows", "page", "per").Page("flows", len(page.Rows))
	if page.Rows = page.Rows[first:last]; page.List.Total == 0 {
		page.List.Empty = "There are no flows here. `rehearse view --flows FILE` shows those of a file or folder, " +
			"`rehearse replay import` loads sessions."
	}
	p.frame.Show(w, http.StatusOK, "flows", page)
}

// flowPage is a flow with what conversations reached of it.
type flowPage struct {
	frame.Page
	ID, Traffic    string
	Picture        template.HTML
	Figures        []frame.Figure
	Nodes          []nodeRow
	MissingNodes   []string
	MissingOptions []missingOption
	Runs           []frame.Link
	Sessions       bool
	// Guessed is true where the run does not say which flow its targets follow, so that the names of nodes decide.
	// Elsewhere is true of a run none of whose targets follows this flow.
	Guessed, Elsewhere bool
}

// nodeRow is a node with how often it was visited, and turns that did.
type nodeRow struct {
	ID     string
	Visits int
	Turns  []frame.Link
}

type missingOption struct{ Node, Option string }

// flow answers with a flow.
func (p *Pages) flow(w http.ResponseWriter, r *http.Request) {
	page := flowPage{Page: p.frame.Base(r, "flow", "Flow "+frame.Part(r, "flow")), ID: frame.Part(r, "flow")}
	page.Trail = []frame.Link{{Label: "Flows", Address: "/flows", Up: true}}
	flows := p.known(&page.Page)
	at := slices.IndexFunc(flows, func(f *flow.Flow) bool { return f.ID == page.ID })
	if at < 0 {
		links := []frame.Link{
			{Label: "Flows", Address: "/flows"},
			{Label: "Its sessions", Address: "/sessions?flow=" + url.QueryEscape(page.ID)},
		}
		why := "The definition of this flow is not here: `rehearse view --flows FILE` shows it."
		if len(page.Warnings) > 0 { // it may be in a file that cannot be read
			why = page.Warnings[0]
		}
		p.frame.NotFound(w, r, why, links...)
		return
	}
	of := flows[at]
	covered, ok := p.coverage(w, r, &page, of)
	if !ok {
		return
	}
	if err := page.fill(of, covered); err != nil {
		p.Frame.Log.Error("a flow cannot be drawn", "flow", of.ID, "error", err)
		page.Warnings = append(page.Warnings, "This flow is too large to be drawn.")
	}
	p.frame.Show(w, http.StatusOK, "flow", page)
}

// fill draws the flow with its coverage, and lists the unreached nodes and options.
func (p *flowPage) fill(of *flow.Flow, c coverage) error {
	report := c.Report()
	p.Figures = []frame.Figure{
		count("nodes_total", "Nodes", report.Nodes.Total),
		count("nodes_covered", "Nodes reached", report.Nodes.Covered),
		count("options_total", "Options", report.Options.Total),
		count("options_covered", "Options taken", report.Options.Covered),
	}
	p.MissingNodes = report.Nodes.Missing
	for _, n := range of.Nodes {
		p.Nodes = append(p.Nodes, nodeRow{n.ID, c.Visits(n.ID), c.turns[n.ID]})
		for _, o := range n.Options {
			if slices.Contains(report.Options.Missing, n.ID+"."+o.ID) {
				p.MissingOptions = append(p.MissingOptions, missingOption{n.ID, o.ID})
			}
		}
	}
	for _, o := range of.Globals {
		if slices.Contains(report.Options.Missing, cover.Globals+"."+o.Global) {
			p.MissingOptions = append(p.MissingOptions, missingOption{cover.Globals, o.Global})
		}
	}
	slices.SortStableFunc(p.Nodes, func(a, b nodeRow) int { return cmp.Compare(b.Visits, a.Visits) })
	g := of.Drawing()
	g.Inline = true
	c.mark(&g, of)
	var picture strings.Builder
	if err := draw.SVG(&picture, g); err != nil {
		return err
	}
	p.Picture = template.HTML(picture.String()) //nolint:gosec // the drawing escapes every text
	return nil
}
