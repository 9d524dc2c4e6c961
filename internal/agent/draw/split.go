package draw

// parts splits a graph into its connected parts: first the one with the start, then those with edges, then single
// nodes.
func parts(g *Graph, joined []ends) []*part {
	group := groups(len(g.Nodes), joined)
	var all []*part
	byGroup := map[int]*part{}
	local := make([]int, len(g.Nodes))
	start := g.start()
	for i := range g.Nodes {
		p := byGroup[group[i]]
		if p == nil {
			p = &part{}
			byGroup[group[i]] = p
			all = append(all, p)
		}
		local[i] = p.addNode(g, i)
		if i == start || g.Nodes[i].Shape == Start && g.Nodes[p.items[p.start].node].Shape != Start {
			p.start = local[i]
		}
	}
	for i, e := range joined {
		p := byGroup[group[e.from]]
		to := none
		if e.to != none {
			to = local[e.to]
		}
		p.addWire(g, i, local[e.from], to)
	}
	return inReadingOrder(all, byGroup[group[max(start, 0)]])
}

// groups numbers the nodes; connected nodes have the same number. It uses disjoint sets with path halving.
func groups(n int, joined []ends) []int {
	parent := make([]int, n+1) // never empty
	for i := range parent {
		parent[i] = i
	}
	find := func(i int) int {
		for parent[i] != i {
			parent[i] = parent[parent[i]]
			i = parent[i]
		}
		return i
	}
	for _, e := range joined {
		if e.to != none {
			a, b := find(e.from), find(e.to)
			parent[max(a, b)] = min(a, b)
		}
	}
	for i := range parent {
		parent[i] = find(i)
	}
	return parent
}

func inReadingOrder(all []*part, first *part) []*part {
	var sorted, single []*part
	for _, p := range all {
		switch {
		case p == first:
		case p.single():
			single = append(single, p)
		default:
			sorted = append(sorted, p)
		}
	}
	if first != nil {
		sorted = append([]*part{first}, sorted...)
	}
	return append(sorted, single...)
}

// single reports whether the part is a node without edges.
func (p *part) single() bool { return len(p.wires) == 0 }

func (p *part) addNode(g *Graph, i int) int {
	text, width, height := measure(&g.Nodes[i])
	p.items = append(p.items, item{
		node: i, wire: none, width: width, height: height, shape: g.Nodes[i].Shape, text: text,
	})
	p.heads = len(p.items)
	p.out = append(p.out, nil)
	return p.heads - 1
}

func (p *part) addWire(g *Graph, edge, from, to int) {
	if to == none {
		to = p.addDot()
	}
	w := wire{edge: edge, from: from, to: to}
	w.text = edgeFont.wrap(oneLine(g.Edges[edge].Label), edgeTextWidth, edgeTextLines)
	if from == to {
		w.kind = loop
	}
	p.out[from] = append(p.out[from], len(p.wires))
	p.wires = append(p.wires, w)
}

func (p *part) addDot() int {
	p.items = append(p.items, item{node: none, wire: none, width: dotSize, height: dotSize})
	p.heads = len(p.items)
	p.out = append(p.out, nil)
	return p.heads - 1
}
