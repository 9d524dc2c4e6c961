// Package draw draws directed graphs, such as the flow of a conversation or the states of a chatbot, as Mermaid text
// and as one self-contained SVG. The same graph gives the same bytes.
//
// IDs and labels are untrusted text: no text has an effect on whatever shows the picture. The bounds below hold for
// every graph.
package draw

import (
	"fmt"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// Bounds of a graph. A larger graph is an error: it would not be readable.
const (
	MaxNodes = 2_000
	MaxEdges = 10_000
)

// Graph is a graph to draw. Reading begins at the first Start node, or at the first node if there is no Start.
type Graph struct {
	Title string
	Nodes []Node
	Edges []Edge
	// Inline makes a picture that stands in a page: without a style of its own, which is StyleSheet, and no wider than
	// its place.
	Inline bool
}

// Node is a box with a label and, in smaller type, a note.
type Node struct {
	// ID is unique and not empty. Edges refer to it. It is shown when there is no Label.
	ID    string
	Label string
	Note  string
	Shape Shape
	Tone  Tone
	// Data are attributes of the node in an inline picture, by their names without data-.
	Data []Datum
}

// Datum is an attribute.
type Datum struct{ Name, Value string }

// Edge is an arrow. An edge with an empty To ends in a dot.
type Edge struct {
	From, To string
	Label    string
	// Data is as in Node.
	Data  []Datum
	Style Style
	Tone  Tone
}

// Shape is the outline of a node.
type Shape int

// The shapes of nodes.
const (
	Step     Shape = iota // a box
	Start                 // a box with round ends and a heavy line
	Decision              // a hexagon
	End                   // a box with round ends and a double line
)

// Tone is the colour of a node or an edge.
type Tone int

// The tones, the same in both formats.
const (
	Plain  Tone = iota
	Accent      // draws attention
	Good        // in order
	Warn        // needs attention, such as a step that no test reaches
	Muted       // does not take part
)

// Style is the line of an edge.
type Style int

// The styles of edges.
const (
	Solid Style = iota
	Dashed
)

// ends are the nodes that an edge joins, as indexes into Graph.Nodes; to is none where the flow ends.
type ends struct{ from, to int }

// none stands for no node, no edge and no item.
const none = -1

// check returns the ends of each edge, or the first fault of the graph.
func (g *Graph) check() ([]ends, error) {
	if len(g.Nodes) > MaxNodes {
		return nil, fmt.Errorf("%d nodes are too many to draw: at most %d", len(g.Nodes), MaxNodes)
	}
	if len(g.Edges) > MaxEdges {
		return nil, fmt.Errorf("%d edges are too many to draw: at most %d", len(g.Edges), MaxEdges)
	}
	at := make(map[string]int, len(g.Nodes))
	for i, n := range g.Nodes {
		if n.ID == "" {
			return nil, fmt.Errorf("node %d has no id", i+1)
		}
		if first, twice := at[n.ID]; twice {
			return nil, fmt.Errorf("nodes %d and %d have the same id %q", first+1, i+1, text.Clip(n.ID, maxQuoted))
		}
		at[n.ID] = i
	}
	joined := make([]ends, len(g.Edges))
	for i, e := range g.Edges {
		from, known := at[e.From]
		if !known {
			return nil, fmt.Errorf("edge %d starts at %q, which is no node", i+1, text.Clip(e.From, maxQuoted))
		}
		to := none
		if e.To != "" {
			if to, known = at[e.To]; !known {
				return nil, fmt.Errorf("edge %d leads to %q, which is no node", i+1, text.Clip(e.To, maxQuoted))
			}
		}
		joined[i] = ends{from, to}
	}
	return joined, nil
}

// start returns the node where reading begins, or none in an empty graph.
func (g *Graph) start() int {
	for i, n := range g.Nodes {
		if n.Shape == Start {
			return i
		}
	}
	if len(g.Nodes) == 0 {
		return none
	}
	return 0
}

// name returns the text of a node: its label, else its ID.
func (n *Node) name() string {
	if s := oneLine(n.Label); s != "" {
		return s
	}
	return oneLine(n.ID)
}
