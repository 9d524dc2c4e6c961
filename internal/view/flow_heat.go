package view

import (
	"strconv"

	"rehearse/internal/cover"
	"rehearse/internal/draw"
	"rehearse/internal/flow"
	"rehearse/internal/text"
)

// heat shows in the drawing of a flow what goes through it: how often each node was visited and each option taken, in numbers, tones and lines.
func heat(g *draw.Graph, of *flow.Flow, c *cover.Coverage) {
	most := 0
	for _, n := range of.Nodes {
		most = max(most, c.Visits(n.ID))
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		visits := c.Visits(n.ID)
		n.Data = []draw.Datum{{Name: "node", Value: n.ID}, {Name: "visits", Value: strconv.Itoa(visits)}}
		n.Tone = toneOf(visits, most)
		n.Label = counted(n.Label, visits)
	}
	taken := takenOf(g, of, c)
	most = 0
	for _, count := range taken {
		most = max(most, count)
	}
	for i, count := range taken {
		e := &g.Edges[i]
		e.Tone, e.Label = toneOf(count, most), counted(e.Label, count)
		e.Weight = draw.MaxWeight * count / max(1, most)
	}
}

// takenOf says how often each edge that is an option was taken, and notes on it which option it is.
func takenOf(g *draw.Graph, of *flow.Flow, c *cover.Coverage) map[int]int {
	taken := map[int]int{}
	note := func(edge, count int, from, option string) {
		taken[edge] = count
		g.Edges[edge].Data = []draw.Datum{
			{Name: "edge", Value: ""}, {Name: "from", Value: from}, {Name: "to", Value: g.Edges[edge].To}, {Name: "option", Value: option}, {Name: "count", Value: strconv.Itoa(count)},
		}
	}
	for i, o := range of.Globals { // their edges are the last ones
		note(len(g.Edges)-len(of.Globals)+i, c.Taken(cover.Globals, o.Global), cover.Globals, o.Global)
	}
	edge := 0
	for _, n := range of.Nodes {
		for _, o := range n.Options {
			for edge < len(g.Edges) && (g.Edges[edge].From != n.ID || g.Edges[edge].To != o.Target()) {
				edge++
			}
			if edge == len(g.Edges) {
				return taken
			}
			note(edge, c.Taken(n.ID, o.ID), n.ID, o.ID)
			edge++
		}
	}
	return taken
}

// toneOf is that of a count: what is more than a third of the most draws attention.
func toneOf(count, most int) draw.Tone {
	switch {
	case count == 0:
		return draw.Muted
	case count*3 > most:
		return draw.Accent
	}
	return draw.Plain
}

// counted is a label with how often; what was never reached says nothing.
func counted(label string, count int) string {
	if count == 0 {
		return label
	}
	if label == "" {
		return "×" + text.Count(count)
	}
	return label + " ×" + text.Count(count)
}
