package draw

import "math"

// straighten removes the last small bends from long wires: successive points get the same x if their neighbours leave room.
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
