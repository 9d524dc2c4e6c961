package draw

import (
	"cmp"
	"slices"
)

// sweeps is how often all layers are sorted, alternately down and up, to remove crossings.
const sweeps = 12

// sweep sorts each layer by the mean place of its neighbours in the layer before, alternately down and up, and keeps the best order
// found. Source: the barycentre method of Sugiyama, Tagawa and Toda.
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

// sortLayer sorts a layer by the neighbours on one side. With turn, ties are reversed; doing so every other time gets a sweep out of a
// dead end.
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
