package draw

// Measures of boxes, in pixels; all even.
const (
	nodeTextWidth = 184
	nodeTextLines = 3 // of a label, and of a note
	nodeMinWidth  = 96
	nodeMinHeight = 44
	nodePadX      = 16
	nodePadY      = 12
	noteGap       = 3
	hexagonSlant  = 14
	edgeTextWidth = 124
	edgeTextLines = 2
	labelPadX     = 6
	labelPadY     = 2
	dotSize       = 14
	loopWidth     = 30 // how far a loop stands out
	loopHeight    = 22
	loopMargin    = 14 // of a side with loops: room for edges that go back
	slotGap       = 12 // between edges that go back on one side of a node
	maxSlots      = 8  // edges beyond these share the last slot
)

// measure breaks the text of a node and returns the size of its box.
func measure(n *Node) (text nodeText, width, height int) {
	text.label = labelFont.wrap(n.name(), nodeTextWidth, nodeTextLines)
	text.note = noteFont.wrap(oneLine(n.Note), nodeTextWidth, nodeTextLines)
	width = max(text.label.width, text.note.width) + 2*nodePadX
	height = text.height() + 2*nodePadY
	if n.Shape == Decision {
		width += 2 * hexagonSlant
	}
	return text, even(max(width, nodeMinWidth)), even(max(height, nodeMinHeight))
}

func (t nodeText) height() int {
	h := t.label.height(labelFont)
	if len(t.note.lines) > 0 {
		h += noteGap + t.note.height(noteFont)
	}
	return h
}

// even rounds up.
func even(n int) int { return n + n&1 }

// labelSize returns the size of the plate under the label of an edge: 0 and 0 without a label.
func (w *wire) labelSize() (width, height int) {
	if len(w.text.lines) == 0 {
		return 0, 0
	}
	return even(w.text.width + 2*labelPadX), even(w.text.height(edgeFont) + 2*labelPadY)
}

// loopSize returns the room that a loop takes beside its node.
func (w *wire) loopSize() (width, height int) {
	lw, lh := w.labelSize()
	return loopWidth + lw, max(loopHeight, lh+4)
}

// makeRoom gives every head the room at its sides that loops and edges that go back need.
func (p *part) makeRoom() {
	ports := p.mostPorts()
	for i := range p.items[:p.heads] {
		it := &p.items[i]
		wide, high := 0, 0
		for _, w := range p.out[i] {
			if p.wires[w].kind == loop {
				lw, lh := p.wires[w].loopSize()
				wide, high = max(wide, lw), high+lh
			}
		}
		if high > 0 {
			it.height = max(it.height, even(high+2*loopMargin))
		}
		if it.node != none {
			it.width = max(it.width, 2*portEdge+portGap*(min(ports[i], maxPorts)-1))
		}
		it.flanks[1].loops = even(wide)
		it.left, it.right = it.width/2, it.width/2+even(wide)
	}
}

// mostPorts returns for each head the larger of two numbers: the wires ahead that leave it, and those that reach it.
func (p *part) mostPorts() []int {
	outs, ins := make([]int, p.heads), make([]int, p.heads)
	for i := range p.wires {
		if w := &p.wires[i]; w.kind == ahead {
			outs[w.from]++
			ins[w.to]++
		}
	}
	for i := range outs {
		outs[i] = max(outs[i], ins[i])
	}
	return outs
}

// makeSlots widens the heads for the edges that go back. The side of each such edge must be known.
func (p *part) makeSlots() {
	for i := range p.wires {
		w := &p.wires[i]
		if w.kind != back {
			continue
		}
		leave := p.flank(w.from, w.side)
		w.slot = min(leave.outs, maxSlots-1)
		leave.outs = w.slot + 1
		p.flank(w.to, w.side).in = true
	}
	for i := range p.items[:p.heads] {
		it := &p.items[i]
		for side := range it.flanks {
			f := &it.flanks[side]
			if f.outs > 0 || f.in {
				f.slots = slotGap*max(f.outs, 1) + slotGap/2
			}
		}
		it.left += it.flanks[0].slots
		it.right += it.flanks[1].slots
	}
}

// flank returns one side of a head: -1 is the left one.
func (p *part) flank(head, side int) *flank { return &p.items[head].flanks[(side+1)/2] }
