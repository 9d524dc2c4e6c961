package draw

// Distances on the sheet, in pixels.
const (
	margin    = 28
	partGap   = 40
	headSpace = 18 // below a heading
)

// restHeading is the heading of the parts that are not connected to the start.
const restHeading = "Not connected to the start"

// sheet is a graph with everything in its place.
type sheet struct {
	width, height int
	title         block
	parts         []*part
	paths         [][]path // by part
	// rest is the y at which the parts that are not connected to the start begin; 0 if there are none.
	rest int
}

// layOut places everything.
func layOut(g *Graph, joined []ends) *sheet {
	s := &sheet{parts: parts(g, joined)}
	for _, p := range s.parts {
		p.layOut()
		s.paths = append(s.paths, p.routes())
	}
	s.arrange(oneLine(g.Title))
	return s
}

func (p *part) layOut() {
	order := p.findBacks()
	p.makeRoom()
	p.setRanks(order)
	p.addChains()
	p.setOrder()
	p.place()
	p.setLevels()
}

// arrange puts the first part in the middle and the others in rows below it. Single nodes begin a new row.
func (s *sheet) arrange(title string) {
	width := s.innerWidth(title)
	s.title = headFont.wrap(title, width, 2)
	y := margin
	if title != "" {
		y += s.title.height(headFont) + headSpace
	}
	bottom := y
	if len(s.parts) > 0 {
		first := s.parts[0]
		first.x, first.y = margin+(width-first.width)/2, y
		bottom = y + first.height
	}
	if len(s.parts) > 1 {
		s.rest = bottom + partGap
		bottom = s.rows(s.parts[1:], s.rest+noteFont.line+8+headSpace, width)
	}
	s.width, s.height = width+2*margin, bottom+margin
}

// rows puts parts side by side from y on, and returns the y at which they end.
func (s *sheet) rows(parts []*part, y, width int) int {
	x, low := 0, y
	single := parts[0].single()
	for _, p := range parts {
		if x > 0 && (x+p.width > width || p.single() != single) {
			x, y = 0, low+nodeGap
		}
		single = p.single()
		p.x, p.y = margin+x, y
		x += p.width + partGap
		low = max(low, y+p.height)
	}
	return low
}

// innerWidth returns the width of the sheet within its margins: the widest part's or the title's, and with several
// parts at least about a screen's.
func (s *sheet) innerWidth(title string) int {
	widest, area, beside := max(nodeMinWidth, min(headFont.width(title), sheetWidth/2)), 0, 0
	for i, p := range s.parts {
		widest = max(widest, p.width)
		if i > 0 {
			area += (p.width + partGap) * (p.height + nodeGap)
			beside += p.width + partGap
			widest = max(widest, noteFont.width(restHeading))
		}
	}
	return max(widest, min(beside-partGap, wideEnough(area)))
}

// Distances between layers, in pixels.
const (
	layerGap    = 18
	farther     = 14 // one more pixel for this many pixels that a wire runs sideways, up to mostFarther
	mostFarther = 44
)

// setLevels gives every item its y: layers as close to each other as the wires between them allow.
func (p *part) setLevels() {
	p.bands = make([]band, len(p.layers))
	y := 0
	for l, layer := range p.layers {
		height := 0
		for _, i := range layer {
			height = max(height, p.items[i].height)
		}
		if l > 0 {
			y += layerGap + min(p.sideways(l)/farther, mostFarther)
		}
		p.bands[l] = band{y, y + height}
		for _, i := range layer {
			p.items[i].y = y + height/2
		}
		y += height
	}
	p.height = y
}

// sideways returns how far wires run sideways to a layer from the one above, at most.
func (p *part) sideways(l int) int {
	most := 0
	for _, i := range p.layers[l] {
		for _, u := range p.items[i].up {
			d := p.items[u].x - p.items[i].x
			most = max(most, d, -d)
		}
	}
	return most
}
