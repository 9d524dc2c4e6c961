package graph

import (
	"fmt"
	"strings"
)

// Drawing is the structure of a compiled graph. The first node is Start, the last one End; the nodes of a subgraph are
// named "node/inner".
type Drawing struct {
	Name  string
	Nodes []DrawnNode
	Edges []DrawnEdge
}

// DrawnNode is a node of a Drawing.
type DrawnNode struct {
	Name string
	// Branches is true of a node whose branch chooses the next nodes.
	Branches bool
	// Streams is true of a node that writes to the client.
	Streams bool
}

// DrawnEdge is an edge of a Drawing. Chosen is true of one that a branch decides, false of one that every turn follows.
type DrawnEdge struct {
	From, To string
	Chosen   bool
}

// Drawing returns the structure of the graph.
func (g *Graph[S]) Drawing() Drawing {
	d := Drawing{Name: g.name}
	for _, n := range g.nodes {
		d.Nodes = append(d.Nodes, DrawnNode{Name: n.name, Branches: n.choose != nil, Streams: n.streams})
		if n.sub != nil {
			g.drawSub(&d, n)
			continue
		}
		for _, to := range n.always {
			d.Edges = append(d.Edges, DrawnEdge{From: n.name, To: g.nameOf(to)})
		}
		for _, to := range n.choices {
			d.Edges = append(d.Edges, DrawnEdge{From: n.name, To: g.nameOf(to), Chosen: true})
		}
	}
	d.Nodes = append(d.Nodes, DrawnNode{Name: End})
	return d
}

// drawSub adds the graph of a node. An edge into the node leads to the first nodes of its graph, and an edge to the end
// of that graph leads to the successors of the node.
func (g *Graph[S]) drawSub(d *Drawing, n *Node[S]) {
	inner := n.sub.Drawing()
	name := func(id string) string { return n.name + "/" + id }
	for _, node := range inner.Nodes {
		if node.Name != Start && node.Name != End {
			node.Name = name(node.Name)
			d.Nodes = append(d.Nodes, node)
		}
	}
	for _, e := range inner.Edges {
		from := name(e.From)
		if e.From == Start {
			from = n.name
		}
		if e.To != End {
			d.Edges = append(d.Edges, DrawnEdge{from, name(e.To), e.Chosen})
			continue
		}
		for _, to := range n.always {
			d.Edges = append(d.Edges, DrawnEdge{from, g.nameOf(to), e.Chosen})
		}
		for _, to := range n.choices {
			d.Edges = append(d.Edges, DrawnEdge{from, g.nameOf(to), true})
		}
	}
}

// nameOf returns the name of a node by its number.
func (g *Graph[S]) nameOf(index int) string {
	if index == end {
		return End
	}
	return g.nodes[index].name
}

// Mermaid returns the drawing as a Mermaid flowchart. Edges that a branch decides are dotted.
func (d Drawing) Mermaid() string {
	var b strings.Builder
	b.WriteString("flowchart TD\n")
	ids := map[string]int{}
	for i, n := range d.Nodes {
		ids[n.Name] = i
		open, shut := `["`, `"]`
		switch {
		case i == 0 || i == len(d.Nodes)-1:
			open, shut = `(["`, `"])`
		case n.Branches:
			open, shut = `{{"`, `"}}`
		}
		fmt.Fprintf(&b, "  n%d%s%s%s\n", i, open, mermaidText(n.Name), shut)
	}
	for _, e := range d.Edges {
		arrow := "-->"
		if e.Chosen {
			arrow = "-.->"
		}
		fmt.Fprintf(&b, "  n%d %s n%d\n", ids[e.From], arrow, ids[e.To])
	}
	return b.String()
}

// mermaidText returns s with every character that Mermaid could read as syntax as an entity.
func mermaidText(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r < ' ' || strings.ContainsRune("\"#&;<>`\\", r) {
			fmt.Fprintf(&b, "#%d;", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
