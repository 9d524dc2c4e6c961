package draw

// routes returns the path of every wire.
func (p *part) routes() []path {
	leave, reach := p.setPorts()
	paths := make([]path, len(p.wires))
	for i := range p.wires {
		w := &p.wires[i]
		switch w.kind {
		case ahead:
			p.routeAhead(&paths[i], w, leave[i], reach[i])
		case back:
			p.routeBack(&paths[i], w)
		case loose:
			p.routeLoose(&paths[i], w)
		}
	}
	p.routeLoops(paths)
	return paths
}

func (p *part) routeAhead(line *path, w *wire, leave, reach int) {
	from, to := &p.items[w.from], &p.items[w.to]
	line.moveTo(point{leave, from.y + from.height/2})
	line.lineTo(point{leave, p.bands[from.layer].bottom})
	top := p.bands[to.layer].top
	end := point{reach, top - arrowLength}
	p.follow(line, w, end)
	line.finish(point{reach, to.y - to.height/2}, 0, 1)
}

// follow draws the line through the points of a wire and on to the end.
func (p *part) follow(line *path, w *wire, end point) {
	stops := p.stops(w)
	lean := 0
	for i, s := range stops {
		if !s.odd {
			line.curveTo(s.enter, lean, 0)
			line.lineTo(s.exit)
			lean = 0
			continue
		}
		next := end
		if i+1 < len(stops) {
			next = stops[i+1].enter
		}
		if !s.label && s.clear(line.at, next) {
			continue
		}
		to := leanAt(line.at, s.enter, next)
		line.curveTo(s.enter, lean, to)
		lean = to
	}
	line.curveTo(end, lean, 0)
}

// stop is where a wire passes a layer: a point in an odd layer, which has labels only; a straight line in a layer of
// nodes.
type stop struct {
	enter, exit point
	odd, label  bool
	low, high   int // the gap between labels that contains an odd one
}

func (p *part) stops(w *wire) []stop {
	stops := make([]stop, len(w.chain))
	for i, c := range w.chain {
		it := &p.items[c]
		s := stop{enter: point{it.x, it.y}, odd: it.layer%2 == 1, label: it.label, low: it.low, high: it.high}
		if !s.odd {
			s.enter.y, s.exit = p.bands[it.layer].top, point{it.x, p.bands[it.layer].bottom}
			if w.kind == back {
				s.enter, s.exit = s.exit, s.enter
			}
		}
		stops[i] = s
	}
	return stops
}

// clear reports whether a direct curve between two points stays in the gap.
func (s *stop) clear(from, to point) bool {
	if to.y == from.y {
		return true
	}
	t := float64(s.enter.y-from.y) / float64(to.y-from.y)
	x := from.x + int(float64(to.x-from.x)*float64(t*t*(3-2*t)))
	return s.low < x && x < s.high
}
