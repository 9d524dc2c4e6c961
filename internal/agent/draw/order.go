package draw

import (
	"cmp"
	"slices"
)

// setOrder orders the items of each layer so that few wires cross. The wires ahead are ordered first. They decide which
// side of the picture is nearer for each wire that goes back. Those wires then run at the sides, around everything
// else.
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

// fillLayers puts every item that is not on a way back into its layer, depth first, so that connected items stand
// together.
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

// chooseSides sends each wire that goes back to the side nearer to its ends; one in the middle, to the side with fewer
// wires.
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

// crossings counts the crossings of wires between neighbouring layers, in O(n log n).
// Source: W. Barth, M. Jünger and P. Mutzel, Simple and Efficient Bilayer Cross Counting, Graph Drawing 2002.
func (p *part) crossings() int {
	total := 0
	var targets []int
	for l := 1; l < len(p.layers); l++ {
		targets = targets[:0]
		for _, i := range p.layers[l-1] {
			from := len(targets)
			for _, d := range p.items[i].down {
				targets = append(targets, p.items[d].pos)
			}
			slices.Sort(targets[from:])
		}
		total += inversions(targets, len(p.layers[l]))
	}
	return total
}

// inversions counts the pairs in which a greater number comes first; all numbers are below n.
// It counts earlier numbers in a tree of sums (P. M. Fenwick, 1994).
func inversions(numbers []int, n int) int {
	tree := make([]int, n+1)
	count := 0
	for seen, x := range numbers {
		notGreater := 0
		for i := x + 1; i > 0; i -= i & -i {
			notGreater += tree[i]
		}
		count += seen - notGreater
		for i := x + 1; i <= n; i += i & -i {
			tree[i]++
		}
	}
	return count
}

// sweeps is how often all layers are sorted, alternately down and up, to remove crossings.
const sweeps = 12

// sweep sorts each layer by the mean place of its neighbours in the layer before, alternately down and up, and keeps
// the best order found. Source: the barycentre method of Sugiyama, Tagawa and Toda.
func (p *part) sweep() {
	best, fewest := p.copyOrder(), p.crossings()
	for n := range sweeps {
		if fewest == 0 {
			break
		}
		if n%2 == 0 {
			for l := range p.layers {
				p.sortLayer(l, func(it *item) []int { return it.up }, n%4 > 1)
			}
		} else {
			for l := range slices.Backward(p.layers) {
				p.sortLayer(l, func(it *item) []int { return it.down }, n%4 > 1)
			}
		}
		if c := p.crossings(); c < fewest {
			best, fewest = p.copyOrder(), c
		}
	}
	p.layers = best
	for _, layer := range p.layers {
		p.number(layer)
	}
}

func (p *part) copyOrder() [][]int {
	layers := make([][]int, len(p.layers))
	for i, layer := range p.layers {
		layers[i] = slices.Clone(layer)
	}
	return layers
}

// sortLayer sorts a layer by the neighbours on one side. With turn, ties are reversed; doing so every other time gets a
// sweep out of a dead end.
func (p *part) sortLayer(l int, neighbours func(*item) []int, turn bool) {
	layer := p.layers[l]
	key := make([]float64, len(layer))
	for pos, i := range layer {
		key[pos] = p.barycentre(i, neighbours(&p.items[i]))
	}
	slices.SortStableFunc(layer, func(a, b int) int {
		x, y := &p.items[a], &p.items[b]
		tie := cmp.Compare(x.pos, y.pos)
		if turn {
			tie = -tie
		}
		return cmp.Or(cmp.Compare(x.lane, y.lane), cmp.Compare(key[x.pos], key[y.pos]), tie)
	})
	p.number(layer)
}

// barycentre returns the mean place of an item's neighbours, or its own place if it has none.
func (p *part) barycentre(i int, neighbours []int) float64 {
	if len(neighbours) == 0 {
		return float64(p.items[i].pos)
	}
	sum := 0
	for _, n := range neighbours {
		sum += p.items[n].pos
	}
	return float64(sum) / float64(len(neighbours))
}
