package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// ratings is a sparse table of two raters' labels. It has the cells that occur, in the order of their first occurrence.
type ratings struct {
	n             float64
	cells         []ratingCell
	first, second []float64 // how often each label was given
}

type ratingCell struct {
	x, y  int32
	count float64
}

func ratingsOf(a, b []int32) ratings {
	r := ratings{n: float64(len(a))}
	at := map[[2]int32]int{}
	for i, x := range a {
		y := b[i]
		for int(max(x, y)) >= len(r.first) {
			r.first, r.second = append(r.first, 0), append(r.second, 0)
		}
		r.first[x]++
		r.second[y]++
		cell, known := at[[2]int32{x, y}]
		if !known {
			cell = len(r.cells)
			at[[2]int32{x, y}] = cell
			r.cells = append(r.cells, ratingCell{x: x, y: y})
		}
		r.cells[cell].count++
	}
	return r
}

// agreement computes κ for weights from 0, for the greatest distance, to 1, for equal labels.
func (r ratings) agreement(weight func(x, y int32) float64) Agreement {
	g := Agreement{N: int(r.n)}
	if r.n == 0 {
		return g
	}
	for _, c := range r.cells {
		g.Observed += c.count * weight(c.x, c.y)
	}
	// ofFirst[x] is the mean weight of label x over the second rater's labels, ofSecond[y] that of y over the first rater's.
	ofFirst, ofSecond := make([]float64, len(r.first)), make([]float64, len(r.first))
	for x := range r.first {
		for y := range r.second {
			w := weight(int32(x), int32(y))
			ofFirst[x] += w * r.second[y]
			ofSecond[y] += w * r.first[x]
		}
	}
	for x, count := range r.first {
		g.Expected += count * ofFirst[x]
	}
	chance := r.n*r.n - g.Expected // not divided yet, so that κ of labels is exact
	if g.Defined = chance > 0; g.Defined {
		g.Kappa = (r.n*g.Observed - g.Expected) / chance
	}
	g.Observed, g.Expected = g.Observed/r.n, g.Expected/(r.n*r.n)
	if g.Defined {
		g.Interval = r.interval(g, ofFirst, ofSecond, weight)
	}
	return g
}

// interval returns the interval of κ. Its lower end is that of the observed agreement when the raters agree on everything.
func (r ratings) interval(g Agreement, ofFirst, ofSecond []float64, weight func(x, y int32) float64) [2]float64 {
	if g.Kappa >= 1 {
		return [2]float64{(wilson95(1, r.n)[0] - g.Expected) / (1 - g.Expected), 1}
	}
	variance := 0.0
	for _, c := range r.cells {
		d := weight(c.x, c.y) - (ofFirst[c.x]+ofSecond[c.y])/r.n*(1-g.Kappa)
		variance += c.count / r.n * d * d
	}
	off := g.Kappa - g.Expected*(1-g.Kappa)
	se := math.Sqrt(max(variance-off*off, 0)/r.n) / (1 - g.Expected)
	half := distuv.UnitNormal.Quantile(0.5+Confidence/2) * se
	return [2]float64{max(g.Kappa-half, -1), min(g.Kappa+half, 1)}
}
