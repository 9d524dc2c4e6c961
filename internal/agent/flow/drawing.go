package flow

import (
	"fmt"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/agent/draw"
)

// Drawing returns the flow as a graph. It marks nodes that no conversation reaches or leaves. The choice of a model is
// a solid line, that of a rule and of no_match a dashed one. Global options are drawn once, from a place of their own.
func (f *Flow) Drawing() draw.Graph {
	g := draw.Graph{Title: f.ID}
	reached, ending := f.reachable(), f.ending()
	for _, n := range f.Nodes {
		shown := draw.Node{ID: n.ID, Label: n.ID, Note: n.Prompt, Shape: shape(f, n)}
		switch {
		case !reached[n]:
			shown.Tone = draw.Muted
		case !ending[n]:
			shown.Tone = draw.Warn
		case n == f.Start:
			shown.Tone = draw.Accent
		case n.Ends():
			shown.Tone = draw.Good
		}
		g.Nodes = append(g.Nodes, shown)
		for _, o := range n.Options {
			g.Edges = append(g.Edges, edge(n, o))
		}
		if m := n.NoMatch; m != nil {
			g.Edges = append(g.Edges, draw.Edge{
				From: n.ID, To: m.target, Label: fmt.Sprintf("no match after %d", m.Max), Style: draw.Dashed,
			})
		}
		for _, next := range redirected(n) {
			g.Edges = append(g.Edges, draw.Edge{From: n.ID, To: next.ID, Label: string(Redirect), Style: draw.Dashed})
		}
	}
	if len(f.Globals) > 0 {
		g.Nodes = append(g.Nodes, draw.Node{
			ID: anywhere, Label: "anywhere", Note: "options that are offered everywhere", Shape: draw.Step,
		})
	}
	for _, o := range f.Globals {
		g.Edges = append(g.Edges, draw.Edge{From: anywhere, To: o.target, Label: conditioned(o)})
	}
	return g
}

// anywhere is the id of what stands in a drawing for all nodes with global options. No node has it.
const anywhere = "*"

// conditioned returns the label of an option, and its condition.
func conditioned(o *Option) string {
	if o.If == nil {
		return o.Label
	}
	return o.Label + " (if " + o.If.String() + ")"
}

func shape(f *Flow, n *Node) draw.Shape {
	switch {
	case n == f.Start:
		return draw.Start
	case n.Ends():
		return draw.End
	case len(n.Options) > 1:
		return draw.Decision
	}
	return draw.Step
}

func edge(n *Node, o *Option) draw.Edge {
	e := draw.Edge{From: n.ID, To: o.target, Label: conditioned(o)}
	if o.Rule != nil {
		e.Style = draw.Dashed
		e.Label = o.Rule.String()
	}
	if n.Type == Start || e.Label == o.target {
		e.Label = ""
	}
	return e
}

// redirected are the nodes that a node's own actions lead to.
func redirected(n *Node) []*Node {
	if n.State == nil {
		return nil
	}
	return redirects(n.State.Actions)
}

// String returns the condition in a few words. For a condition that always holds, it is empty.
func (c *Condition) String() string {
	switch c.Type {
	case Always:
		return ""
	case And, Or, Not:
		parts := make([]string, 0, len(c.Of))
		for _, of := range c.Of {
			parts = append(parts, of.String())
		}
		joined := strings.Join(parts, " "+string(c.Type)+" ")
		if c.Type == Not {
			return "not (" + strings.Join(parts, " and ") + ")"
		}
		return joined
	}
	what := string(c.Type)
	if c.Operator != "" {
		what = string(c.Operator)
	}
	return strings.TrimSpace(c.Field + " " + what + " " + strings.Join(c.Values, " | "))
}
