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

// setPorts returns the x at which each wire ahead leaves or reaches its head. It is that of the next point if there is
// room. Ports keep the order of those points.
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

// part is one connected part of a graph during layout. Each part is laid out on its own and then put on the sheet.
//
// The layout is layered, after K. Sugiyama, S. Tagawa and M. Toda, Methods for Visual Understanding of Hierarchical
// System Structures, IEEE Transactions on Systems, Man, and Cybernetics 11 (1981). Edges that close a cycle are set
// aside and nodes get a layer (rank.go). Long edges get a point in each layer that they pass (chain.go). Layers get an
// order (order.go), and everything a place (place.go). Nodes take the even layers; the labels of edges take the odd
// ones, so that a label has room of its own.
type part struct {
	items  []item // the nodes, the dots of edges that end, and then the points where edges pass
	heads  int    // how many items are nodes or dots
	wires  []wire
	out    [][]int // by head: the wires that leave it, in the order of the graph
	start  int     // the head where reading begins
	layers [][]int // items from left to right
	bands  []band  // by layer: its height
	// width and height are set once everything has its place; x and y are the part's place on the sheet.
	width, height, x, y int
}

// item takes room in a layer. Widths are even, so that the centre is a whole pixel.
type item struct {
	node          int // in the graph, or none
	wire          int // the wire that passes here, or none
	layer, pos    int // pos is its place in the layer
	lane          int // -1 and 1 keep it left or right of everything else: an edge on its way back
	width, height int
	left, right   int // room from the centre to each side: more than half the width where edges go round
	flanks        [2]flank
	shape         Shape
	x, y          int // the centre
	up, down      []int
	label         bool // it holds the label of its wire
	low, high     int  // the gap between labels that contains it
	text          nodeText
}

// flank is what one side of a head holds. A head has the left one first.
type flank struct {
	loops int  // room that loops take
	slots int  // room beyond that for edges on their way back
	outs  int  // edges that leave here to go back
	in    bool // edges that have gone back arrive here
}

// wire is an edge within its part.
type wire struct {
	edge     int // in the graph
	from, to int // heads
	kind     kind
	chain    []int // the points that it passes, from its start to its end
	side     int   // -1 or 1: the side on which it goes back
	slot     int   // how many edges leave its start nearer on that side
	text     block
}

// kind is the way in which a wire runs.
type kind int

const (
	ahead kind = iota // down the layers
	back              // up again, at the side
	loop              // to the node that it leaves
	loose             // straight, behind the boxes: beyond maxPoints
)

// band is the vertical range of a layer.
type band struct{ top, bottom int }

// nodeText is the text in a node.
type nodeText struct{ label, note block }
