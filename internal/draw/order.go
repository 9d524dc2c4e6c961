package draw

import (
	"cmp"
	"slices"
)

// setOrder orders the items of each layer so that few wires cross. The wires ahead are ordered first. They decide which side of the
// picture is nearer for each wire that goes back. Those wires then run at the sides, around everything else.
func (p *part) setOrder() {
	for i := range p.wires {
		if p.wires[i].kind == ahead {
			p.link(&p.wires[i])
		}
	}
	p.fillLayers()
	p.sweep()
	p.chooseSides()
	p.makeSlots()
	p.addLanes()
	p.sweep()
}

// fillLayers puts every item that is not on a way back into its layer, depth first, so that connected items stand together.
func (p *part) fillLayers() {
	last := 0
	for i := range p.items[:p.heads] {
		last = max(last, p.items[i].layer)
	}
	p.layers = make([][]int, last+1)
	seen := make([]bool, len(p.items))
	var visit func(i int)
	visit = func(i int) {
		if seen[i] {
			return
		}
		seen[i] = true
		it := &p.items[i]
		it.pos = len(p.layers[it.layer])
		p.layers[it.layer] = append(p.layers[it.layer], i)
		for _, d := range it.down {
			visit(d)
		}
	}
	for _, v := range p.roots() {
		visit(v)
	}
}

// chooseSides sends each wire that goes back to the side nearer to its ends; one in the middle, to the side with fewer wires.
func (p *part) chooseSides() {
	balance := 0
	for i := range p.wires {
		w := &p.wires[i]
		if w.kind != back {
			continue
		}
		lean := p.lean(w.from) + p.lean(w.to)
		switch {
		case lean < 0, lean == 0 && balance > 0:
			w.side = -1
		default:
			w.side = 1
		}
		balance += w.side
		for _, c := range w.chain {
			p.items[c].lane = w.side
		}
	}
}

// lean returns how far from the middle of its layer an item stands, from -1000 at the left end to 1000 at the right.
func (p *part) lean(i int) int {
	it := &p.items[i]
	if n := len(p.layers[it.layer]) - 1; n > 0 {
		return 2000*it.pos/n - 1000
	}
	return 0
}

func (p *part) addLanes() {
	for i := range p.wires {
		w := &p.wires[i]
		if w.kind != back {
			continue
		}
		p.link(w)
		for _, c := range w.chain {
			layer := p.items[c].layer
			p.layers[layer] = append(p.layers[layer], c)
		}
	}
	for _, layer := range p.layers {
		slices.SortStableFunc(layer, func(a, b int) int { return cmp.Compare(p.items[a].lane, p.items[b].lane) })
		p.number(layer)
	}
}

func (p *part) number(layer []int) {
	for pos, i := range layer {
		p.items[i].pos = pos
	}
}
