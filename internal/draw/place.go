package draw

import (
	"math"
	"slices"
)

// Distances between neighbours in a layer, in pixels.
const (
	nodeGap  = 32
	labelGap = 10
	lineGap  = 14
)

// How places are found.
const (
	// How often the places of all layers are improved: a small picture can have more of it.
	minRounds, maxRounds = 8, 120
	placingWork          = 300_000 // items placed in all, more or less
	roughRounds          = 2       // in which items look in one direction only, so that they get near their places soon
	// Wires are drawn straight where they pass layers rather than near their ends, as Gansner et al. weigh them.
	straight = 4
	// Wires that go back draw less, so that nodes stand where the way ahead wants them.
	asideWeight = 0.25
	// Items move by more than they want to, which makes many rounds of few: successive over-relaxation (D. M. Young, 1950).
	zeal = 1.6
)

// placer finds how far to the right everything stands.
type placer struct {
	*part
	x      []float64 // by item
	zeal   float64
	track  []float64 // by wire: the x that its points should have in common
	wanted []float64 // of the layer at hand
	weigh  []float64
	apart  []int
}

// place gives every item its x: near what it is joined to, in the order of its layer.
func (p *part) place() {
	pl := placer{part: p, x: make([]float64, len(p.items)), track: make([]float64, len(p.wires))}
	for l := range p.layers {
		pl.layer(l, nil)
	}
	pl.setTracks()
	above := func(it *item) [2][]int { return [2][]int{it.up} }
	below := func(it *item) [2][]int { return [2][]int{it.down} }
	both := func(it *item) [2][]int { return [2][]int{it.up, it.down} }
	rounds := min(max(placingWork/len(p.items), minRounds), maxRounds)
	for n := range rounds {
		down, up := above, below
		pl.zeal = 1
		if n >= roughRounds {
			down, up = both, both
			pl.zeal = zeal
		}
		for l := range p.layers {
			pl.layer(l, down)
		}
		pl.setTracks()
		for l := range slices.Backward(p.layers) {
			pl.layer(l, up)
		}
		pl.setTracks()
	}
	p.toPixels(pl.x)
	p.straighten()
	for _, layer := range p.layers {
		p.setGaps(layer)
	}
}

// toPixels moves everything to whole pixels from 0 on. Distances and widths are whole, so that rounding keeps items apart.
func (p *part) toPixels(x []float64) {
	left := math.MaxInt
	for i := range p.items {
		p.items[i].x = int(math.Floor(x[i] + 0.5))
		left = min(left, p.items[i].x-p.items[i].left)
	}
	for i := range p.items {
		p.items[i].x -= left
		p.width = max(p.width, p.items[i].x+p.items[i].right)
	}
}

// setGaps tells each item how far a line may stray in its layer before it runs into a label.
func (p *part) setGaps(layer []int) {
	low := math.MinInt
	for _, i := range layer {
		it := &p.items[i]
		if it.low = low; it.label {
			low = it.x + it.right + labelPadX
		}
	}
	high := math.MaxInt
	for _, i := range slices.Backward(layer) {
		it := &p.items[i]
		if it.high = high; it.label {
			high = it.x - it.left - labelPadX
		}
	}
}

// layer places the items of one layer, near their neighbours or, without any to ask, around the middle.
func (pl *placer) layer(l int, neighbours func(*item) [2][]int) {
	layer := pl.layers[l]
	pl.wanted, pl.weigh, pl.apart = pl.wanted[:0], pl.weigh[:0], pl.apart[:0]
	for pos, i := range layer {
		apart, wanted, weight := 0, 0.0, 1.0
		if pos > 0 {
			apart = distance(&pl.items[layer[pos-1]], &pl.items[i])
		}
		if neighbours != nil {
			wanted, weight = pl.wish(i, neighbours(&pl.items[i]))
		}
		pl.wanted, pl.weigh, pl.apart = append(pl.wanted, wanted), append(pl.weigh, weight), append(pl.apart, apart)
	}
	for pos, x := range spread(pl.wanted, pl.weigh, pl.apart) {
		pl.x[layer[pos]] = x
	}
}

// distance returns how far apart the centres of two neighbours must be.
func distance(a, b *item) int {
	gap := lineGap
	switch {
	case a.wire == none && b.wire == none:
		gap = nodeGap
	case a.label || b.label:
		gap = labelGap
	}
	return a.right + b.left + gap
}
