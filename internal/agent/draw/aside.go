package draw

import "math"

const (
	roundness = 20 // of the ends of a Start or an End, in pixels
	sideGap   = 8  // between wires at one side of a node
	sideEdge  = 9  // from a wire to the corner
)

// routeBack leads a wire out of its start at one side, up its lane, and into its end at the same side.
func (p *part) routeBack(line *path, w *wire) {
	from, to := &p.items[w.from], &p.items[w.to]
	x, y := from.x+w.side*from.slotAt(w.side, w.slot), from.y+from.leaveLevel(w)
	line.moveTo(point{from.edgeAt(w.side, y), y})
	line.lineTo(point{x - w.side*corner, y})
	line.command('Q', point{x, y}, point{x, y - corner})
	line.lineTo(point{x, p.bands[from.layer].top})

	x, y = to.x+w.side*to.slotAt(w.side, 0), to.y+to.reachLevel(w.side)
	p.follow(line, w, point{x, p.bands[to.layer].bottom})
	line.lineTo(point{x, y + corner})
	line.command('Q', point{x, y}, point{x - w.side*corner, y})
	line.finish(point{to.edgeAt(w.side, y), y}, -w.side, 0)
}

// slotAt returns the distance of a slot from the centre.
func (it *item) slotAt(side, slot int) int {
	return it.width/2 + it.flanks[(side+1)/2].loops + slotGap*(slot+1)
}

// leaveLevel returns how far below the centre a wire leaves to go back. Wires of inner slots leave further up, so that
// wires do not cross. Wires that arrive have the lower half of the side.
func (it *item) leaveLevel(w *wire) int {
	f, half := &it.flanks[(w.side+1)/2], it.height/2
	switch {
	case f.loops > 0:
		return sideEdge - half
	case f.in:
		gap := min(sideGap, (half-sideEdge-sideGap)/max(f.outs-1, 1))
		return -sideGap - gap*(f.outs-1-w.slot)
	}
	gap := min(sideGap, 2*(half-sideEdge)/max(f.outs-1, 1))
	return gap*w.slot - gap*(f.outs-1)/2
}

// reachLevel returns how far below the centre wires that go back arrive.
func (it *item) reachLevel(side int) int {
	f := &it.flanks[(side+1)/2]
	switch {
	case f.loops > 0:
		return it.height/2 - sideEdge
	case f.outs > 0:
		return sideGap
	}
	return 0
}

// edgeAt returns the x of the outline of a box at one side, at a level.
func (it *item) edgeAt(side, y int) int {
	half := it.height / 2
	off, inset := max(y-it.y, it.y-y), 0
	round := min(roundness, half)
	switch {
	case it.shape == Decision:
		inset = hexagonSlant * off / half
	case (it.shape == Start || it.shape == End) && off > half-round:
		beyond := off - (half - round)
		inset = round - int(math.Sqrt(float64(round*round-beyond*beyond)))
	}
	return it.x + side*(it.width/2-inset)
}

// routeLoops draws the loops of each node one below the other on its right side.
func (p *part) routeLoops(paths []path) {
	for v := range p.heads {
		it := &p.items[v]
		total := 0
		for _, i := range p.out[v] {
			if w := &p.wires[i]; w.kind == loop {
				_, h := w.loopSize()
				total += h
			}
		}
		y := it.y - total/2
		for _, i := range p.out[v] {
			if w := &p.wires[i]; w.kind == loop {
				_, h := w.loopSize()
				paths[i].loop(it, y, h)
				y += h
			}
		}
	}
}

// loop draws one loop from y downwards. Its label is to the right.
func (p *path) loop(it *item, y, height int) {
	const bulge = loopWidth + loopWidth/4 // of the control points; the curve itself stays within loopWidth
	middle := y + height/2
	high, low := middle-loopHeight/2+4, middle+loopHeight/2-4
	start, end := it.edgeAt(1, high), it.edgeAt(1, low)
	p.moveTo(point{start, high})
	p.command('C', point{start + bulge, high - 6}, point{end + bulge, low}, point{end + arrowLength, low})
	p.finish(point{end, low}, -1, 0)
	p.mid = point{it.x + it.width/2 + loopWidth - 2, middle}
}

// routeLoose draws a wire that has no points of its own straight from box to box, behind everything between them.
func (p *part) routeLoose(line *path, w *wire) {
	from, to := &p.items[w.from], &p.items[w.to]
	down := 1
	if from.y > to.y {
		down = -1
	}
	start := point{from.x, from.y + down*from.height/2}
	end := point{to.x, to.y - down*to.height/2}
	line.moveTo(start)
	line.curveTo(point{end.x, end.y - down*arrowLength}, 0, 0)
	line.finish(end, 0, down)
	line.mid = point{(start.x + end.x) / 2, (start.y + end.y) / 2}
}
