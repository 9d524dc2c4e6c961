package stats

import "math"

// Power is the probability with which a detectable difference is found, unless a Criterion gives another.
const Power = 0.8

// detectable returns the smallest true mean, above or below 0, that a two-sided t-test at 5 % distinguishes from 0 with
// a probability, given the standard error of the mean and its degrees of freedom.
//
// Source: H. S. Bloom, Minimum Detectable Effects: A Simple Way to Report the Statistical Power of Experimental
// Designs, Evaluation Review 19 (1995), with the noncentral t in place of his sum of two quantiles, which is too small
// for few units; E. Miller, Adding Error Bars to Evals (2024), on power.
func detectable(se, df, power float64) float64 {
	critical := tQuantile(1-significance/2, df)
	low, high := 0.0, 2*critical
	for shiftedTail(critical, high, df) < power {
		low, high = high, 2*high
	}
	for high-low > 1e-9*high {
		middle := (low + high) / 2
		if shiftedTail(critical, middle, df) < power {
			low = middle
		} else {
			high = middle
		}
	}
	return se * high
}

// UnitsFor returns how many clusters like these, with as many pairs each, would find a true difference, in either
// direction, better or worse with the probability that Detectable has. When difference is the margin, as many show
// non-inferiority of a candidate that equals the baseline. Where hardly anything differs, so many make ± 3/n of the
// range no wider than difference. It is 0 when it cannot be computed: nothing varies and there is no range, too little
// is known, or the difference is 0.
func (d *Difference) UnitsFor(difference float64) int {
	difference = math.Abs(difference)
	if difference == 0 || math.IsNaN(difference) {
		return 0
	}
	still := min(math.Ceil(3*d.still/difference*(1-1e-12)), mostUnits)
	return max(d.unitsFor(difference), int(still))
}

// unitsFor is UnitsFor by the variation of the differences.
func (d *Difference) unitsFor(difference float64) int {
	switch {
	case d.Method == MethodMcNemar:
		if difference > 1 {
			return 0
		}
		test, discordant := mcNemarTest{}, d.discordant()
		return leastUnits(func(n int) bool { return test.power(n, discordant, difference) >= d.power })
	case !(d.SE > 0) || math.IsInf(d.SE, 0):
		return 0
	}
	clusters := float64(d.Clusters)
	return leastUnits(func(n int) bool { // with sizes that differ as these do
		return detectable(d.SE*math.Sqrt(clusters/float64(n)), float64(n-1)*d.df/(clusters-1), d.power) <= difference
	})
}

// detectable returns the value of Detectable where pairs differ.
func (d *Difference) detectable() float64 {
	switch {
	case d.Method == MethodMcNemar:
		return detectableRate(d.Clusters, d.discordant(), d.power)
	case math.IsInf(d.SE, 0):
		return math.Inf(1)
	}
	return detectable(d.SE, d.df, d.power)
}

// mostUnits bounds the search of leastUnits.
const mostUnits = 1_000_000_000

// leastUnits returns the least n of two or more that is enough, or 0 when mostUnits are not enough. If n is enough, so
// is n+1.
func leastUnits(enough func(n int) bool) int {
	high := 2
	for !enough(high) {
		if high *= 2; high > mostUnits {
			return 0
		}
	}
	low := high / 2
	for high-low > 1 {
		middle := (low + high) / 2
		if enough(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}
