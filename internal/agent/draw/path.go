package draw

import "strconv"

// Arrow heads, in pixels.
const (
	arrowLength = 9
	arrowHalf   = 4
	corner      = 10
)

// point is a place in a part, in pixels.
type point struct{ x, y int }

// path is the line of a wire as the data of an SVG path, and the arrow head at its end.
type path struct {
	line  []byte
	at    point // the end of the line so far
	arrow []byte
	mid   point // where the label of a loose wire stands
}

func (p *path) command(letter byte, points ...point) {
	p.line = append(p.line, letter)
	for i, pt := range points {
		if i > 0 {
			p.line = append(p.line, ' ')
		}
		p.line = appendPoint(p.line, pt)
		p.at = pt
	}
}

func appendPoint(b []byte, pt point) []byte {
	b = strconv.AppendInt(b, int64(pt.x), 10)
	b = append(b, ' ')
	return strconv.AppendInt(b, int64(pt.y), 10)
}

func (p *path) moveTo(pt point) { p.command('M', pt) }

func (p *path) lineTo(pt point) {
	if pt != p.at {
		p.command('L', pt)
	}
}

// curveTo draws a curve that leaves and arrives vertically or aslant. A lean is how far the line runs sideways for each
// hundred pixels down.
func (p *path) curveTo(pt point, leanFrom, leanTo int) {
	if pt.x == p.at.x && leanFrom == 0 && leanTo == 0 {
		p.lineTo(pt)
		return
	}
	reach := (pt.y - p.at.y) * 45 / 100
	p.command('C',
		point{p.at.x + reach*leanFrom/100, p.at.y + reach},
		point{pt.x - reach*leanTo/100, pt.y - reach},
		pt)
}

// finish draws the end of the line and the arrow head. Its tip is at pt; dx and dy are its direction.
func (p *path) finish(pt point, dx, dy int) {
	base := point{pt.x - dx*arrowLength, pt.y - dy*arrowLength}
	p.lineTo(point{base.x + 2*dx, base.y + 2*dy}) // overlap, so that no gap shows
	p.arrow = append(p.arrow, 'M')
	p.arrow = appendPoint(p.arrow, pt)
	p.arrow = append(p.arrow, 'L')
	p.arrow = appendPoint(p.arrow, point{base.x + dy*arrowHalf, base.y + dx*arrowHalf})
	p.arrow = append(p.arrow, 'L')
	p.arrow = appendPoint(p.arrow, point{base.x - dy*arrowHalf, base.y - dx*arrowHalf})
	p.arrow = append(p.arrow, 'Z')
}

// leanAt returns the lean of a line at a point: upright where the line turns, and never so flat that it bulges.
func leanAt(before, at, after point) int {
	in, out := at.x-before.x, after.x-at.x
	if in == 0 || out == 0 || (in < 0) != (out < 0) || after.y == before.y {
		return 0
	}
	lean := 100 * (after.x - before.x) / (after.y - before.y)
	for _, leg := range [][2]int{{in, at.y - before.y}, {out, after.y - at.y}} {
		if leg[1] != 0 {
			limit := 150 * leg[0] / leg[1]
			lean = max(min(lean, max(limit, -limit)), -max(limit, -limit))
		}
	}
	return lean
}
