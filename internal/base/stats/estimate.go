package stats

import "math"

// estimate is a mean over clusters and its sampling distribution: Student's t around it or, when resampled is set, the
// means of random halves of the clusters.
type estimate struct {
	mean, se, df float64
	clusters     int
	unequal      bool      // in the number of their observations
	resampled    []float64 // sorted
}

// minAlike is the least number of clusters with the same mean that proves anything. If half of all clusters lay on
// either side of a value, six would all lie on the same side with a probability of 2/2⁶ = 3 %, five with 6 %: it is the
// sign test.
const minAlike = 6

// minResampled is from how many clusters on a mean is resampled where they are of one size: with fewer Student's t
// gives the narrower interval. Where sizes differ, six are enough.
const minResampled = 50

// alike reports whether the clusters' means are equal up to rounding.
func (e estimate) alike() bool { return e.se <= 1e-12*math.Abs(e.mean) }

// unknown reports whether there are too few clusters to say anything.
func (e estimate) unknown() bool {
	return e.clusters < 2 || !finite(e.se) || e.alike() && e.clusters < minAlike
}

// wantsResampling reports whether the mean is to be resampled.
func (e estimate) wantsResampling() bool {
	enough := e.clusters >= minResampled || e.unequal && e.clusters >= minAlike
	return enough && !e.unknown() && !e.alike()
}

// interval returns the 95 % interval; it is infinite when there are too few clusters.
func (e estimate) interval() [2]float64 {
	if e.unknown() {
		return [2]float64{math.Inf(-1), math.Inf(1)}
	}
	if e.resampled != nil {
		return [2]float64{midQuantile(e.resampled, (1-Confidence)/2), midQuantile(e.resampled, (1+Confidence)/2)}
	}
	t := tQuantile(0.5+Confidence/2, e.df)
	return [2]float64{e.mean - t*e.se, e.mean + t*e.se}
}

// p returns the two-sided p-value of the hypothesis that the true mean is 0. It is below 5 % exactly when interval
// leaves out 0.
func (e estimate) p() float64 {
	switch {
	case e.unknown() || e.alike() && e.mean == 0:
		return 1
	case e.alike():
		return 2 * math.Exp2(-float64(e.clusters))
	case e.resampled == nil:
		return 2 * tTail(math.Abs(e.mean)/e.se, e.df)
	}
	below, interval := midShare(e.resampled, 0), e.interval()
	p := min(1, 2*min(below, 1-below))
	if interval[0] > 0 || interval[1] < 0 { // even where p is 5 % but for rounding
		return min(p, math.Nextafter(significance, 0))
	}
	return max(p, math.Nextafter(significance, 1))
}
