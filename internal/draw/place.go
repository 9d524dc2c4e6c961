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

// Parameters of the search for places.
const (
	// The rounds that improve the places of all layers: more of them in a small picture.
	minRounds, maxRounds = 8, 120
	placingWork          = 300_000 // about how many items are placed in all rounds
	roughRounds          = 2       // first rounds, in which items look in one direction only, to get near their places soon
	// Wires are straightened where they pass layers rather than near their ends, with the weight of Gansner et al.
	straight = 4
	// Wires that go back pull less, so that the wires ahead decide where nodes stand.
	asideWeight = 0.25
	// Items move farther than they wish to. This takes fewer rounds: successive over-relaxation (D. M. Young, 1950).
	zeal = 1.6
)

// placer finds the x of everything.
type placer struct {
	*part
	x      []float64 // by item
	zeal   float64
	track  []float64 // by wire: the common x that its points should have
	wanted []float64 // of the current layer
	weigh  []float64
	apart  []int
}

// place gives every item its x: near its neighbours, in the order of its layer.
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

// toPixels moves everything to whole pixels from 0 on. Distances and widths are whole, so rounding keeps items apart.
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

// setGaps sets for each item how far a line may deviate in its layer before it meets a label.
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

// layer places the items of one layer near their neighbours or, if none has any, around the middle.
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

// distance returns the least distance between the centres of two neighbours.
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
