package draw

import (
	"cmp"
	"slices"
)

// maxPoints bounds the points of a part where edges pass, and thereby the time of a layout.
const maxPoints = 30_000

// addChains gives every wire a point in each layer that it passes, the shortest wires first. Wires beyond the bound
// become loose. One of the points in an odd layer holds the label.
func (p *part) addChains() {
	byLength := make([]int, 0, len(p.wires))
	for i := range p.wires {
		if p.wires[i].kind != loop {
			byLength = append(byLength, i)
		}
	}
	slices.SortStableFunc(byLength, func(a, b int) int { return cmp.Compare(p.span(a), p.span(b)) })
	load := map[int]int{} // by layer: how wide its labels are together
	for _, i := range byLength {
		if len(p.items)-p.heads+p.span(i) > maxPoints {
			p.wires[i].kind = loose
			continue
		}
		p.addChain(i, load)
	}
}

// span returns how many layers a wire bridges.
func (p *part) span(wire int) int {
	n := p.items[p.wires[wire].to].layer - p.items[p.wires[wire].from].layer
	return max(n, -n)
}

func (p *part) addChain(i int, load map[int]int) {
	w := &p.wires[i]
	from, to, step := p.items[w.from].layer, p.items[w.to].layer, 1
	if w.kind == back {
		step = -1
	}
	width, height := w.labelSize()
	labelled := none
	if width > 0 {
		labelled = roomiest(from+step, to, 2*step, width, load)
		load[labelled] += width + labelGap
	}
	w.chain = make([]int, 0, p.span(i)-1)
	for layer := from + step; layer != to; layer += step {
		it := item{node: none, wire: i, layer: layer, lane: w.side}
		if layer == labelled {
			it.width, it.height, it.label = width, height, true
			it.left, it.right = width/2, width/2
		}
		w.chain = append(w.chain, len(p.items))
		p.items = append(p.items, it)
	}
}

// roomiest returns the first layer on the way in which a label still fits, or else the layer with the narrowest labels.
func roomiest(first, end, step, width int, load map[int]int) int {
	best := first
	for layer := first; (end-layer)*step > 0; layer += step {
		if load[layer]+width <= sheetWidth {
			return layer
		}
		if load[layer] < load[best] {
			best = layer
		}
	}
	return best
}

// link makes the items of a wire neighbours, from top to bottom.
func (p *part) link(w *wire) {
	above := w.from
	for _, c := range append(slices.Clone(w.chain), w.to) {
		a, b := above, c
		if w.kind == back {
			a, b = b, a
		}
		p.items[a].down = append(p.items[a].down, b)
		p.items[b].up = append(p.items[b].up, a)
		above = c
	}
}
