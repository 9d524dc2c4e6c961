// Package stats is arithmetic for evaluations: intervals of rates and means, and what repeats of a test say.
// It knows nothing of suites or results, keeps no state, and each function names its source.
package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Confidence is the level of every interval in this package.
const Confidence = 0.95

// Wilson returns the 95 % score interval of a rate of which passed of n were seen, as {low, high}.
// It stays within [0, 1] and keeps its coverage near 0 and 1, where the usual p ± 1.96·se collapses to a point.
// With n = 0 nothing is known: {0, 1}. Numbers outside 0 ≤ passed ≤ n are brought inside.
// When none of n was seen (or all were), RuleOfThree says the same in words that people remember.
//
// Source: E. B. Wilson, Probable Inference, the Law of Succession, and Statistical Inference, JASA 22 (1927).
func Wilson(passed, n int) [2]float64 {
	if n <= 0 {
		return [2]float64{0, 1}
	}
	passed = min(max(passed, 0), n)
	z := distuv.UnitNormal.Quantile(0.5 + Confidence/2)
	p, m := float64(passed)/float64(n), float64(n)
	denominator := 1 + z*z/m
	centre := (p + z*z/(2*m)) / denominator
	half := z / denominator * math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	low, high := math.Max(0, centre-half), math.Min(1, centre+half)
	// Rounding would leave 1e-17 or 0.9999…; the exact ends are part of the contract.
	if passed == 0 {
		low = 0
	}
	if passed == n {
		high = 1
	}
	return [2]float64{low, high}
}

// RuleOfThree returns the rate that, with 95 % confidence, is not exceeded by something that never happened in n independent tries:
// 3/n, at most 1. It is the answer to "none of n failed, so how sure are we?".
//
// Source: J. A. Hanley and A. Lippman-Hand, If Nothing Goes Wrong, Is Everything All Right?, JAMA 249 (1983).
func RuleOfThree(n int) float64 {
	if n <= 3 {
		return 1
	}
	return 3 / float64(n)
}
