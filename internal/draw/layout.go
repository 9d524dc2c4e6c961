package draw

// Distances on the sheet, in pixels.
const (
	margin    = 28
	partGap   = 40
	headSpace = 18 // below a heading
)

// restHeading stands above what is not connected to the start.
const restHeading = "Not connected to the start"

// sheet is a graph with everything in its place.
type sheet struct {
	width, height int
	title         block
	parts         []*part
	paths         [][]path // by part
	// rest is where what is not connected to the start begins; 0 if there is nothing of that kind.
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

// arrange sets the first part in the middle, and all others in rows below it; single nodes begin a row of their own.
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

// rows sets parts side by side from y on, and returns where they end.
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

// innerWidth returns how wide the sheet is within its margins: as its widest part, as a title of some length, and with several parts
// about as a screen.
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
