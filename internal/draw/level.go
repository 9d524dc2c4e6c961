package draw

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
