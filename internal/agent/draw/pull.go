package draw

// wish returns the x that an item is drawn to, and how strongly. Every pull has its counterpart, or everything would
// drift.
func (pl *placer) wish(i int, neighbours [2][]int) (x, weight float64) {
	it := &pl.items[i]
	if it.wire != none && len(pl.wires[it.wire].chain) > 1 {
		x, weight = float64(straight*pl.track[it.wire]), straight
	}
	for _, side := range neighbours {
		for _, n := range side {
			w, at := pl.pull(it, n)
			x, weight = x+float64(w*at), weight+w
		}
	}
	if weight == 0 {
		return pl.x[i], 0.01 // it goes wherever there is room
	}
	return pl.x[i] + float64(pl.zeal*(x/weight-pl.x[i])), weight
}

// pull returns how strongly an item is drawn to its neighbour n, and to which x.
func (pl *placer) pull(it *item, n int) (weight, at float64) {
	neighbour := &pl.items[n]
	if it.wire != none && neighbour.wire != none {
		return 1, pl.x[n]
	}
	weight = 1.0
	lane := it.lane + neighbour.lane // one of the two is a head and has no lane
	if lane != 0 {
		weight = asideWeight
	}
	if it.wire != none {
		return weight, pl.x[n] + float64(slotOf(neighbour, lane))
	}
	at = pl.x[n]
	if len(pl.wires[neighbour.wire].chain) > 1 { // the wire as a whole pulls, too
		at, weight = (at+pl.track[neighbour.wire])/2, 2*weight
	}
	return weight, at - float64(slotOf(it, lane))
}

// slotOf returns where wires in a lane leave a head, relative to its centre.
func slotOf(head *item, lane int) int {
	switch {
	case lane < 0:
		return -head.left
	case lane > 0:
		return head.right
	}
	return 0
}

// setTracks finds the straight line that suits each wire best.
func (pl *placer) setTracks() {
	for i := range pl.wires {
		w := &pl.wires[i]
		if len(w.chain) < 2 {
			continue
		}
		k, from := pl.pull(&pl.items[w.chain[0]], w.from)
		_, to := pl.pull(&pl.items[w.chain[len(w.chain)-1]], w.to)
		sum := 0.0
		for _, c := range w.chain {
			sum += pl.x[c]
		}
		pl.track[i] = (float64(straight*sum) + float64(k*(from+to))) / (straight*float64(len(w.chain)) + 2*k)
	}
}
