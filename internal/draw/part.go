package draw

// part is one connected part of a graph during layout. Each part is laid out on its own and then put on the sheet.
//
// The layout is layered, after K. Sugiyama, S. Tagawa and M. Toda, Methods for Visual Understanding of Hierarchical System
// Structures, IEEE Transactions on Systems, Man, and Cybernetics 11 (1981). Edges that close a cycle are set aside and nodes get a layer
// (rank.go). Long edges get a point in each layer that they pass (chain.go). Layers get an order (order.go), and everything a place
// (place.go). Nodes take the even layers; the labels of edges take the odd ones, so that a label has room of its own.
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
