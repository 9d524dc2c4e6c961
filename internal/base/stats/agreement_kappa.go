package stats

import (
	"math"
)

// Agreement is how far two raters, such as a judge and a person, agree on the same items.
type Agreement struct {
	// N counts the items.
	N int
	// Observed is the share of items on which they agree; with a weighting, it is the mean agreement. Expected is the
	// agreement of raters who give labels as often as these do, but at random.
	Observed, Expected float64
	// Kappa is (Observed − Expected) / (1 − Expected): 1 is full agreement, 0 is agreement by chance.
	Kappa float64
	// Interval is the 95 % interval of Kappa. It holds for many items and is too narrow for fewer than 30.
	Interval [2]float64
	// Defined is false when Kappa is 0/0: there are no items, or both raters gave all items the same label.
	Defined bool
}

// Weighting says how much one disagreement counts against another.
type Weighting int

// The weightings of disagreements between numbers: in proportion to their distance, or to its square.
const (
	Linear Weighting = iota
	Quadratic
)

// Kappa returns the agreement of two raters who gave labels without an order, index by index; the shorter list counts.
// It takes time proportional to the square of the number of different labels.
//
// Source: J. Cohen, A Coefficient of Agreement for Nominal Scales, Educational and Psychological Measurement 20 (1960);
// J. L. Fleiss, J. Cohen and B. S. Everitt, Large Sample Standard Errors of Kappa and Weighted Kappa, Psychological
// Bulletin 72 (1969).
func Kappa[L comparable](first, second []L) Agreement {
	n := min(len(first), len(second))
	a, b := numbered(first[:n], second[:n])
	return ratingsOf(a, b).agreement(func(x, y int32) float64 {
		if x == y {
			return 1
		}
		return 0
	})
}

// WeightedKappa returns the agreement of two raters who gave numbers, such as grades from 1 to 5, index by index; the
// shorter list counts. The distance of two grades is that of the numbers, so grades that were never given do not
// matter.
//
// Source: J. Cohen, Weighted Kappa, Psychological Bulletin 70 (1968); J. L. Fleiss, J. Cohen and B. S. Everitt (1969).
func WeightedKappa(first, second []float64, weighting Weighting) Agreement {
	n := min(len(first), len(second))
	a, b := numbered(first[:n], second[:n])
	values := make([]float64, 2*n)
	low, high := math.Inf(1), math.Inf(-1)
	for i := range n {
		values[a[i]], values[b[i]] = first[i], second[i]
		low, high = min(low, first[i], second[i]), max(high, first[i], second[i])
	}
	return ratingsOf(a, b).agreement(func(x, y int32) float64 {
		if x == y {
			return 1
		}
		distance := math.Abs(values[x]-values[y]) / (high - low)
		if weighting == Quadratic {
			distance *= distance
		}
		return 1 - distance
	})
}

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
	// ofFirst[x] is the mean weight of label x over the second rater's labels, ofSecond[y] that of y over the first
	// rater's.
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

// interval returns the interval of κ. Its lower end is that of the observed agreement when the raters agree on
// everything.
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
	half := normalQuantile(0.5+Confidence/2) * se
	return [2]float64{max(g.Kappa-half, -1), min(g.Kappa+half, 1)}
}
