package draw

import (
	"cmp"
	"slices"
)

const (
	portGap  = 14 // between wires at the top or the bottom of a node
	maxPorts = 16 // a node is not widened for more
	portEdge = 26 // from the corner, which may be round
)

// port is where a wire meets the top or the bottom of a head.
type port struct {
	wire, toward int // toward is the x that the wire comes from or goes to
}

// setPorts returns the x at which each wire ahead leaves or reaches its head. It is that of the next point if there is room. Ports keep the
// order of those points.
func (p *part) setPorts() (leave, reach []int) {
	leave, reach = make([]int, len(p.wires)), make([]int, len(p.wires))
	outs, ins := make([][]port, p.heads), make([][]port, p.heads)
	for i := range p.wires {
		w := &p.wires[i]
		if w.kind != ahead {
			continue
		}
		first, last := w.to, w.from
		if len(w.chain) > 0 {
			first, last = w.chain[0], w.chain[len(w.chain)-1]
		}
		outs[w.from] = append(outs[w.from], port{i, p.items[first].x})
		ins[w.to] = append(ins[w.to], port{i, p.items[last].x})
	}
	for v := range p.heads {
		p.spreadPorts(v, outs[v], leave)
	}
	for v := range p.heads {
		for i, at := range ins[v] {
			if chain := p.wires[at.wire].chain; len(chain) == 1 && !p.items[chain[0]].label {
				ins[v][i].toward = leave[at.wire] // no point in between: the line may be straight
			}
		}
		p.spreadPorts(v, ins[v], reach)
	}
	return leave, reach
}

func (p *part) spreadPorts(v int, ports []port, x []int) {
	it := &p.items[v]
	room := max(it.width/2-portEdge, 0)
	if len(ports) == 1 && it.node != none {
		room /= 2 // a single wire stays near the middle
	}
	gap := 0
	if len(ports) > 1 {
		gap = min(portGap, 2*room/(len(ports)-1))
	}
	slices.SortStableFunc(ports, func(a, b port) int { return cmp.Compare(a.toward, b.toward) })
	n := len(ports)
	for i, at := range ports {
		// Leave room for the later ones to the right, and for the earlier ones to the left.
		low, high := it.x-room+i*gap, it.x+room-(n-1-i)*gap
		x[at.wire] = min(max(at.toward, low), high)
	}
	for i := 1; i < n; i++ {
		x[ports[i].wire] = max(x[ports[i].wire], x[ports[i-1].wire]+gap)
	}
}
