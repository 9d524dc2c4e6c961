package draw

import (
	"math"
	"slices"
)

// Bounds for the width of a layer of nodes: a screen, or for a large graph about the height of the whole.
const (
	sheetWidth = 1180
	nodeArea   = 240 * 150 // a node with its share of the space around it
)

// widest returns how wide a layer may get in a graph with that many nodes.
func widest(nodes int) int { return wideEnough(nodes * nodeArea) }

// wideEnough returns the width of a sheet of an area: about square, but no narrower than a screen.
func wideEnough(area int) int { return max(sheetWidth, int(math.Sqrt(float64(area)))) }

// setRanks gives every head its layer, always an even one; order is that of findBacks.
func (p *part) setRanks(order []int) {
	in := p.incoming()
	p.lowerSources(order, in, p.longestPaths(order, in))
	p.dropEmptyRanks()
}

// findBacks marks the wires that close a cycle, by a depth-first search from the start (E. R. Gansner, E. Koutsofios,
// S. C. North and K.-P. Vo, A Technique for Drawing Directed Graphs, IEEE Transactions on Software Engineering 19,
// 1993). A reader sees a wire as going back when it leads to a node on the way to its start. findBacks returns the
// heads in an order in which every other wire leads forward.
func (p *part) findBacks() []int {
	const fresh, open, done = 0, 1, 2
	state := make([]int, p.heads)
	order := make([]int, p.heads)
	last := p.heads
	var visit func(v int)
	visit = func(v int) {
		state[v] = open
		for _, i := range p.out[v] {
			w := &p.wires[i]
			switch {
			case w.kind == loop:
			case state[w.to] == open:
				w.kind = back
			case state[w.to] == fresh:
				visit(w.to)
			}
		}
		state[v] = done
		last--
		order[last] = v
	}
	for _, v := range p.roots() {
		if state[v] == fresh {
			visit(v)
		}
	}
	return order
}

// roots returns all heads: first the start, then those that no wire reaches.
func (p *part) roots() []int {
	reached := make([]bool, p.heads)
	for i := range p.wires {
		if w := &p.wires[i]; w.from != w.to {
			reached[w.to] = true
		}
	}
	sorted, rest := []int{p.start}, []int{}
	for v, r := range reached {
		if r {
			rest = append(rest, v)
		} else {
			sorted = append(sorted, v)
		}
	}
	return append(sorted, rest...)
}

// incoming returns the wires ahead that reach each head.
func (p *part) incoming() [][]int {
	in := make([][]int, p.heads)
	for i := range p.wires {
		if w := &p.wires[i]; w.kind == ahead {
			in[w.to] = append(in[w.to], i)
		}
	}
	return in
}

// longestPaths puts every head below all that lead to it, and lower if that layer is full. It returns how full each
// layer is.
func (p *part) longestPaths(order []int, in [][]int) (used map[int]int) {
	limit := widest(p.heads)
	used = map[int]int{}
	for _, v := range order {
		layer := 0
		for _, i := range in[v] {
			layer = max(layer, p.items[p.wires[i].from].layer+2)
		}
		need := p.items[v].left + p.items[v].right + nodeGap
		for used[layer] > 0 && used[layer]+need > limit {
			layer += 2
		}
		used[layer] += need
		p.items[v].layer = layer
	}
	return used
}

// lowerSources moves heads that no wire reaches down towards their successors, where there is room. Longest paths begin
// at the top, which is right for the start and makes long wires from all others.
func (p *part) lowerSources(order []int, in [][]int, used map[int]int) {
	for _, v := range slices.Backward(order) {
		if v == p.start || len(in[v]) > 0 {
			continue
		}
		below := math.MaxInt
		for _, i := range p.out[v] {
			if w := &p.wires[i]; w.kind == ahead {
				below = min(below, p.items[w.to].layer)
			}
		}
		it := &p.items[v]
		need := it.left + it.right + nodeGap
		if below != math.MaxInt && used[below-2]+need <= widest(p.heads) {
			used[below-2] += need
			it.layer = below - 2
		}
	}
}

func (p *part) dropEmptyRanks() {
	used := map[int]bool{}
	highest := 0
	for i := range p.items[:p.heads] {
		used[p.items[i].layer] = true
		highest = max(highest, p.items[i].layer)
	}
	layer := make([]int, highest+1)
	next := 0
	for l := 0; l <= highest; l += 2 {
		layer[l] = next
		if used[l] {
			next += 2
		}
	}
	for i := range p.items[:p.heads] {
		p.items[i].layer = layer[p.items[i].layer]
	}
}
