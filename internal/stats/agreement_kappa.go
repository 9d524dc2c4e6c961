package stats

import "math"

// Agreement is how far two raters, such as a judge and a person, agree on the same items.
type Agreement struct {
	// N counts the items.
	N int
	// Observed is the share of items on which they agree; with a weighting, it is the mean agreement. Expected is the agreement of raters
	// who give labels as often as these do, but at random.
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

// Kappa returns the agreement of two raters who gave labels without an order, index by index; the shorter list counts. It takes time
// proportional to the square of the number of different labels.
//
// Source: J. Cohen, A Coefficient of Agreement for Nominal Scales, Educational and Psychological Measurement 20 (1960); J. L. Fleiss,
// J. Cohen and B. S. Everitt, Large Sample Standard Errors of Kappa and Weighted Kappa, Psychological Bulletin 72 (1969).
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

// WeightedKappa returns the agreement of two raters who gave numbers, such as grades from 1 to 5, index by index; the shorter list counts.
// The distance of two grades is that of the numbers, so grades that were never given do not matter.
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
