package graph

import "rehearse/internal/draw"

// Drawing returns the graph to draw. Where every turn goes on is a solid line, what a branch decides a dashed one; nodes that write to the
// client stand out.
func (g *Graph[S]) Drawing() draw.Graph {
	d := draw.Graph{Title: g.name}
	for _, n := range g.nodes {
		d.Nodes = append(d.Nodes, n.drawn())
		for _, to := range n.always {
			d.Edges = append(d.Edges, draw.Edge{From: n.name, To: g.nameOf(to)})
		}
		for _, to := range n.choices {
			d.Edges = append(d.Edges, draw.Edge{From: n.name, To: g.nameOf(to), Style: draw.Dashed})
		}
	}
	d.Nodes = append(d.Nodes, draw.Node{ID: End, Shape: draw.End, Tone: draw.Good})
	return d
}

func (n *Node[S]) drawn() draw.Node {
	shown := draw.Node{ID: n.name}
	switch {
	case n.index == 0:
		shown.Shape = draw.Start
	case n.choose != nil:
		shown.Shape = draw.Decision
	}
	if n.streams {
		shown.Note, shown.Tone = "streams", draw.Accent
	}
	return shown
}

// nameOf returns the name of a node by its number.
func (g *Graph[S]) nameOf(index int) string {
	if index == end {
		return End
	}
	return g.nodes[index].name
}
