package draw

var shapeNames = map[Shape]string{Start: "start", Decision: "decision", End: "end"}

// heads draws the nodes of a part, and the dots where edges end.
func (p *painter) heads(part *part) {
	for i := range part.items[:part.heads] {
		it := &part.items[i]
		if it.node == none {
			p.printf(`<g class="dot plain"><circle class="ring" cx="%d" cy="%d" r="%d"/><circle class="tip" cx="%d" cy="%d" r="3"/></g>`+"\n",
				it.x, it.y, dotSize/2-1, it.x, it.y)
			continue
		}
		p.node(it, &p.g.Nodes[it.node])
	}
}

func (p *painter) node(it *item, n *Node) {
	shape, known := shapeNames[n.Shape]
	if !known {
		shape = "step"
	}
	p.printf(`<g class="node %s %s"%s><title>%s</title>`, shape, n.Tone, data(n.Data), escape(nodeTitle(n)))
	p.outline(it)
	p.printf("\n")
	y := it.y - it.text.height()/2
	for _, line := range it.text.label.lines {
		p.text("name", it.x, y+labelFont.size, line)
		y += labelFont.line
	}
	y += noteGap
	for _, line := range it.text.note.lines {
		p.text("note", it.x, y+noteFont.size, line)
		y += noteFont.line
	}
	p.printf("</g>\n")
}

// nodeTitle returns the whole text of a node.
func nodeTitle(n *Node) string {
	s := n.name()
	if id := oneLine(n.ID); id != s {
		s += " (" + id + ")"
	}
	if note := oneLine(n.Note); note != "" {
		s += "\n" + note
	}
	return s
}

func (p *painter) outline(it *item) {
	x, y, w, h := it.x-it.width/2, it.y-it.height/2, it.width, it.height
	round := 8
	switch it.shape {
	case Decision:
		p.printf(`<polygon class="box" points="%d,%d %d,%d %d,%d %d,%d %d,%d %d,%d"/>`,
			x, it.y, x+hexagonSlant, y, x+w-hexagonSlant, y, x+w, it.y, x+w-hexagonSlant, y+h, x+hexagonSlant, y+h)
		return
	case Start, End:
		round = min(roundness, h/2)
	}
	p.printf(`<rect class="box" x="%d" y="%d" width="%d" height="%d" rx="%d"/>`, x, y, w, h, round)
	if it.shape == End {
		p.printf(`<rect class="ring" x="%d" y="%d" width="%d" height="%d" rx="%d"/>`, x+3, y+3, w-6, h-6, round-3)
	}
}

// labels writes the labels of edges on top of everything else.
func (p *painter) labels(part *part, paths []path) {
	for i := range part.wires {
		w := &part.wires[i]
		width, height := w.labelSize()
		if width == 0 {
			continue
		}
		at := paths[i].mid
		switch w.kind {
		case loop:
			at.x += width / 2
		case ahead, back:
			for _, c := range w.chain {
				if part.items[c].label {
					at = point{part.items[c].x, part.items[c].y}
				}
			}
		}
		p.printf(`<g class="%s"><rect class="plate" x="%d" y="%d" width="%d" height="%d" rx="4"/>`+"\n",
			p.g.Edges[w.edge].Tone, at.x-width/2, at.y-height/2, width, height)
		y := at.y - w.text.height(edgeFont)/2
		for _, line := range w.text.lines {
			p.text("word", at.x, y+edgeFont.size, line)
			y += edgeFont.line
		}
		p.printf("</g>\n")
	}
}
