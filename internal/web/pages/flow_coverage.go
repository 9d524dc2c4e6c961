package pages

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/rehearse-dev/rehearse/internal/agent/draw"
	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/replay/cover"
	"github.com/rehearse-dev/rehearse/internal/run/runindex"
	"github.com/rehearse-dev/rehearse/internal/web/pages/frame"
)

// maxTurnsOfNode is how many turns that visited a node have a link.
const maxTurnsOfNode = 5

// coverage is what conversations reach of a flow, and links to some of the turns that visited each node.
type coverage struct {
	*cover.Coverage
	turns map[string][]frame.Link
}

func coverageOf(f *flow.Flow) coverage { return coverage{cover.Of(f), map[string][]frame.Link{}} }

// coverage counts the conversations that the request chooses: those of a run or the logged sessions. The default is the
// newest run with a turn of the flow, else the sessions. ok is false when the request has been answered with an error.
func (p *Pages) coverage(w http.ResponseWriter, r *http.Request, page *flowPage, of *flow.Flow) (c coverage, ok bool) {
	q := r.URL.Query()
	runs, _ := p.Runs.Runs()
	runs = slices.DeleteFunc(slices.Clone(runs), func(run *runindex.Found) bool { return followsElsewhere(run, of.ID) })
	runs = runs[:min(len(runs), 10)]
	for _, run := range runs {
		address := "/flows/" + frame.Segment(of.ID) + "?run=" + url.QueryEscape(run.Record.ID)
		page.Runs = append(page.Runs, frame.Link{Label: run.Record.ID, Address: address})
	}
	if id := q.Get("run"); id != "" {
		run := p.Runs.Find(id)
		if run == nil {
			p.frame.NotFound(w, r, "There is no run of that id here.", p.newest(5)...)
			return c, false
		}
		return p.coveredByRun(page, of, run), true
	}
	if q.Get("traffic") != "sessions" {
		for _, run := range runs {
			if c = p.coveredByRun(page, of, run); c.Turns > 0 {
				return c, true
			}
		}
	}
	page.Guessed, page.Elsewhere = false, false
	page.Traffic, page.Sessions = "sessions", true
	store, ok := p.stored(w, r)
	if !ok || store == nil {
		return coverageOf(of), ok
	}
	c, err := coveredBySessions(r.Context(), store, of, q)
	if err != nil {
		p.away(w, r, err)
		return c, false
	}
	return c, true
}

// followsElsewhere reports whether each target of a run is known to follow another flow or none.
func followsElsewhere(run *runindex.Found, flow string) bool {
	for _, target := range run.Record.Targets {
		if follows, known := run.Record.Follows(target, flow); follows || !known {
			return false
		}
	}
	return len(run.Record.Targets) > 0
}

// coveredByRun counts the turns of a run.
func (p *Pages) coveredByRun(page *flowPage, of *flow.Flow, run *runindex.Found) coverage {
	page.Traffic = run.Record.ID
	c := coverageOf(of)
	index, err := run.Index()
	if err != nil {
		page.Warnings = append(page.Warnings, "The run "+run.Record.ID+" cannot be read.")
		return c
	}
	page.Guessed, page.Elsewhere = false, len(index.Tests) > 0
	unread := 0
	for _, e := range index.Tests {
		follows, known := run.Record.Follows(e.Target, of.ID)
		if known && !follows {
			continue
		}
		page.Elsewhere = false
		rows := e.Of
		if len(rows) == 0 {
			rows = []*runindex.Row{e.Row}
		}
		for _, row := range rows {
			if !row.Placed { // the record names no node
				continue
			}
			t, err := run.Read(row)
			if err != nil {
				unread++
				continue
			}
			c.Test(t)
			page.Guessed = page.Guessed || !known
			trials := []string(nil)
			if row.Trial > 0 {
				trials = []string{strconv.Itoa(row.Trial)}
			}
			for _, x := range t.Turns {
				if len(c.turns[x.Node]) < maxTurnsOfNode {
					address := addressOfTest(run.Record.ID, runindex.Test{
						Suite: e.Suite, ID: e.TestID, Target: e.Target,
					}, trials, "")
					label := fmt.Sprintf("%s, turn %d", e.TestID, x.Index)
					c.turns[x.Node] = append(c.turns[x.Node], frame.Link{
						Label: label, Address: atTurn(address, x.Index),
					})
				}
			}
		}
	}
	if unread > 0 {
		page.Warnings = append(page.Warnings, text.Plural(unread, "record")+
			" of the run cannot be read, and what they reached is not counted.")
	}
	return c
}

// sessionEvents are the types of events that show where a session went.
var sessionEvents = []string{replay.Started, replay.Message, replay.Completed, replay.DroppedOff}

// coveredBySessions counts the logged sessions of a flow that began between the days of a query.
func coveredBySessions(ctx context.Context, store *Stored, of *flow.Flow, q url.Values) (coverage, error) {
	c := coverageOf(of)
	from, hasFrom := dayOf(q.Get("from"))
	to, hasTo := dayOf(q.Get("to"))
	events := store.Sessions.EachFrom(ctx, replay.Filter{FlowID: of.ID, Types: sessionEvents}, "")
	for s, err := range replay.Sessions(events, 0, &replay.Faults{}) {
		if err != nil {
			return c, err
		}
		if s.FlowID != of.ID || hasFrom && s.Started.Before(from) || hasTo && !s.Started.Before(to) {
			continue
		}
		c.Session(s)
		n := 0
		for _, m := range s.Messages {
			if !m.User {
				continue
			}
			if n++; len(c.turns[m.After]) < maxTurnsOfNode {
				link := frame.Link{
					Label:   fmt.Sprintf("%s, turn %d", s.ID, n),
					Address: fmt.Sprintf("/sessions/%s#turn-%d", frame.Segment(s.ID), n),
				}
				c.turns[m.After] = append(c.turns[m.After], link)
			}
		}
	}
	return c, nil
}

// mark shows the coverage in the drawing of its flow: how often each node was visited and each option taken; unreached
// ones are muted.
func (c coverage) mark(g *draw.Graph, of *flow.Flow) {
	for i := range g.Nodes {
		n := &g.Nodes[i]
		visits := c.Visits(n.ID)
		n.Data = []draw.Datum{{Name: "node", Value: n.ID}, {Name: "visits", Value: strconv.Itoa(visits)}}
		n.Tone, n.Label = toneOf(visits), counted(n.Label, visits)
	}
	option := func(edge int, from, id string) {
		e, count := &g.Edges[edge], c.Count(from, id)
		e.Data = []draw.Datum{
			{Name: "edge"}, {Name: "from", Value: from}, {Name: "to", Value: e.To}, {Name: "option", Value: id},
			{Name: "count", Value: strconv.Itoa(count)},
		}
		e.Tone, e.Label = toneOf(count), counted(e.Label, count)
	}
	for i, o := range of.Globals { // their edges are the last ones
		option(len(g.Edges)-len(of.Globals)+i, cover.Globals, o.Global)
	}
	edge := 0
	for _, n := range of.Nodes {
		for _, o := range n.Options {
			for edge < len(g.Edges) && (g.Edges[edge].From != n.ID || g.Edges[edge].To != o.Target()) {
				edge++
			}
			if edge == len(g.Edges) {
				return
			}
			option(edge, n.ID, o.ID)
			edge++
		}
	}
}

func toneOf(count int) draw.Tone {
	if count == 0 {
		return draw.Muted
	}
	return draw.Plain
}

// counted appends a count to a label; 0 is left out.
func counted(label string, count int) string {
	switch {
	case count == 0:
		return label
	case label == "":
		return "×" + text.Count(count)
	}
	return label + " ×" + text.Count(count)
}
