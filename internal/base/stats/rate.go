// Package stats is arithmetic for evaluations: intervals of rates and means, comparisons of two systems on the same
// units and their power, once or again and again, repeats of a test, agreement of raters, and similarity of two
// sequences. It knows nothing of suites or results, keeps no state, and each function names its source.
//
// An interval is infinite, or all of [0, 1] for a rate, when nothing is known. JSON has no infinite number; callers
// write null.
package stats

import (
	"math"
)

// Confidence is the level of every interval in this package.
const Confidence = 0.95

// Wilson returns the 95 % score interval of a rate, as {low, high}, when passed of n observations passed.
// It stays within [0, 1] and keeps its coverage near 0 and 1, where the usual p ± 1.96·se collapses to a point.
// With n = 0 nothing is known: {0, 1}. Numbers outside 0 ≤ passed ≤ n are clamped.
// When none of n passed (or all did), RuleOfThree says nearly the same in a form that people remember.
//
// Source: E. B. Wilson, Probable Inference, the Law of Succession, and Statistical Inference, JASA 22 (1927).
func Wilson(passed, n int) [2]float64 {
	if n <= 0 {
		return [2]float64{0, 1}
	}
	passed = min(max(passed, 0), n)
	return wilson95(float64(passed)/float64(n), float64(n))
}

func wilson95(p, n float64) [2]float64 {
	return wilson(p, n, normalQuantile(0.5+Confidence/2))
}

// wilson is Wilson for a rate p of n observations and a quantile z; n need not be whole.
func wilson(p, n, z float64) [2]float64 {
	denominator := 1 + z*z/n
	centre := (p + z*z/(2*n)) / denominator
	half := z / denominator * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	low, high := math.Max(0, centre-half), math.Min(1, centre+half)
	// Rounding would leave 1e-17 or 0.9999…; the exact ends are part of the contract.
	if p == 0 {
		low = 0
	}
	if p == 1 {
		high = 1
	}
	return [2]float64{low, high}
}

// ClusteredWilson is Wilson for tests that come in clusters of tests that depend on each other: alone counts those on
// their own, clusters has the counts of each cluster. It is Wilson's interval with the effective number of tests, n
// over the design effect, or the number of clusters where all outcomes are alike and the effect cannot be estimated.
//
// Source: E. L. Korn and B. I. Graubard, Confidence Intervals for Proportions with Small Expected Number of Positive
// Counts Estimated from Survey Data, Survey Methodology 24 (1998), for the effective sample size; as for ClusteredMean.
func ClusteredWilson(alone Repeated, clusters []Repeated) [2]float64 {
	n, passed := alone.N, alone.Passed
	of := make([]spread, 0, alone.N+len(clusters))
	for i := range alone.N {
		x := 0.0
		if i < alone.Passed {
			x = 1
		}
		of = append(of, spread{n: 1, mean: x})
	}
	for _, c := range clusters {
		if c.N > 0 {
			n, passed = n+c.N, passed+c.Passed
			mean := float64(c.Passed) / float64(c.N)
			of = append(of, spread{float64(c.N), mean, float64(c.N) * mean * (1 - mean)})
		}
	}
	if len(of) == n {
		return Wilson(passed, n)
	}
	sums := make([]clusterSum, len(of))
	for i, s := range of {
		sums[i] = s.sum()
	}
	effective := float64(len(of))
	if mean := clusteredMean(sums); !mean.alike() && !math.IsInf(mean.se, 0) {
		effective = min(float64(n)/designEffect(of, mean.se), float64(n))
	}
	return wilson95(float64(passed)/float64(n), max(effective, 1))
}

// RuleOfThree returns a rate for something that never happened in n independent tries: with 95 % confidence, its true
// rate is not higher. It is 3/n, at most 1.
//
// Source: J. A. Hanley and A. Lippman-Hand, If Nothing Goes Wrong, Is Everything All Right?, JAMA 249 (1983).
func RuleOfThree(n int) float64 {
	if n <= 3 {
		return 1
	}
	return 3 / float64(n)
}

// TInterval returns the 95 % two-sided Student-t interval of the mean of independent observations, as {low, high}. It
// is not clamped, since a difference may be negative. It is infinite for fewer than two observations, and has no width
// when all observations are equal.
//
// Source: Student, The Probable Error of a Mean, Biometrika 6 (1908).
func TInterval(xs []float64) [2]float64 {
	n := float64(len(xs))
	if n < 2 {
		return [2]float64{math.Inf(-1), math.Inf(1)}
	}
	var all spread
	for _, x := range xs {
		all.add(x)
	}
	half := tQuantile(0.5+Confidence/2, n-1) * math.Sqrt(all.squares/(n-1)/n)
	return [2]float64{all.mean - half, all.mean + half}
}

// TLower returns the lower end of TInterval for scores between 0 and 1, clamped to [0, 1].
// Fewer than two scores give 0: one trial proves no lower bound.
func TLower(scores []float64) float64 {
	return min(max(TInterval(scores)[0], 0), 1)
}
