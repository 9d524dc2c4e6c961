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
	// first rounds, in which items look in one direction only, to get near their places soon
	roughRounds = 2
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

// straighten removes the last small bends from long wires: successive points get the same x if their neighbours leave
// room.
func (p *part) straighten() {
	for i := range p.wires {
		chain := p.wires[i].chain
		for len(chain) > 1 {
			n, x := p.run(chain)
			for _, c := range chain[:n] {
				p.items[c].x = x
			}
			chain = chain[n:]
		}
	}
}

// run returns how many points, from the first on, can share an x, and the x nearest to their mean.
func (p *part) run(chain []int) (n, x int) {
	low, high, sum := math.MinInt, math.MaxInt, 0
	for _, c := range chain {
		left, right := p.room(c)
		if max(low, left) > min(high, right) {
			break
		}
		low, high = max(low, left), min(high, right)
		sum += p.items[c].x
		n++
	}
	return n, min(max(sum/n, low), high)
}

// room returns the least and the greatest x of an item's centre between its neighbours or the ends of its layer.
func (p *part) room(i int) (left, right int) {
	it := &p.items[i]
	layer := p.layers[it.layer]
	left, right = min(it.left, it.x), max(p.width-it.right, it.x)
	if it.pos > 0 {
		before := &p.items[layer[it.pos-1]]
		left = before.x + distance(before, it)
	}
	if it.pos+1 < len(layer) {
		after := &p.items[layer[it.pos+1]]
		right = after.x - distance(it, after)
	}
	return left, right
}

// spread returns places near the wanted ones, in the same order and at least the distances apart: apart[i] lies before
// place i. The weighted sum of squared deviations is the least possible: isotonic regression by pooling adjacent
// violators. Source: R. E. Barlow and H. D. Brunk, The Isotonic Regression Problem and Its Dual, JASA 67 (1972). are in
// each other's way. Source: R. E. Barlow and H. D. Brunk, The Isotonic Regression Problem and Its Dual, JASA 67 (1972).
func spread(wanted, weights []float64, apart []int) []float64 {
	type pool struct {
		mean, weight float64
		size         int
	}
	var pools []pool
	offset := 0.0
	places := make([]float64, len(wanted))
	for i, x := range wanted {
		offset += float64(apart[i])
		places[i] = offset
		last := pool{x - offset, weights[i], 1}
		for len(pools) > 0 && pools[len(pools)-1].mean > last.mean {
			before := pools[len(pools)-1]
			pools = pools[:len(pools)-1]
			sum := before.weight + last.weight
			// The conversions prevent fused operations, so that a picture has the same bytes on every processor.
			last.mean = (float64(before.mean*before.weight) + float64(last.mean*last.weight)) / sum
			last.weight, last.size = sum, before.size+last.size
		}
		pools = append(pools, last)
	}
	i := 0
	for _, p := range pools {
		for range p.size {
			places[i] += p.mean
			i++
		}
	}
	return places
}
