package stats

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"
)

// McNemar returns the two-sided exact p-value of the hypothesis that two systems fail equally often. onlyFirst units
// were passed by the first system alone, onlySecond by the second alone. Units that both passed, or both failed, do not
// matter. Without any other unit it is 1.
//
// Source: Q. McNemar, Note on the Sampling Error of the Difference Between Correlated Proportions or Percentages,
// Psychometrika 12 (1947), with the binomial distribution in place of χ².
func McNemar(onlyFirst, onlySecond int) float64 {
	n := onlyFirst + onlySecond
	return min(1, 2*binomialTail(max(onlyFirst, onlySecond), n, 0.5))
}

// binomialTail returns the probability of k or more successes in n tries.
func binomialTail(k, n int, p float64) float64 {
	switch {
	case k <= 0:
		return 1
	case k > n:
		return 0
	}
	return mathext.RegIncBeta(float64(k), float64(n-k+1), p)
}

// PairedRateInterval returns the 95 % score interval of the difference of two rates, second minus first, over n units.
// onlyFirst units were passed by the first alone, onlySecond by the second alone. Unlike the usual interval, it has a
// width when no unit differs: ±3.84/(n + 3.84).
//
// Source: T. Tango, Equivalence Test and Confidence Interval for the Difference in Proportions for the Paired-Sample
// Design, Statistics in Medicine 17 (1998).
func PairedRateInterval(onlyFirst, onlySecond, n int) [2]float64 {
	if n <= 0 {
		return [2]float64{-1, 1}
	}
	z := normalQuantile(0.5 + Confidence/2)
	at := float64(onlySecond-onlyFirst) / float64(n)
	return [2]float64{
		tangoLimit(-1, at, func(x float64) bool { return tangoZ(x, onlyFirst, onlySecond, n) > z }),
		tangoLimit(at, 1, func(x float64) bool { return tangoZ(x, onlyFirst, onlySecond, n) > -z }),
	}
}

// pairedRateInterval is PairedRateInterval, extended to 0 when McNemar's exact test does not reject 0. So test and
// interval never contradict each other.
func pairedRateInterval(lost, won, n int) [2]float64 {
	interval := PairedRateInterval(lost, won, n)
	if McNemar(lost, won) > significance {
		interval[0], interval[1] = min(interval[0], 0), max(interval[1], 0)
	}
	return interval
}

// tangoZ returns the score statistic of a true difference of x: how far the observed difference is above x, in the
// standard errors that hold if x is true. It falls as x rises.
func tangoZ(x float64, onlyFirst, onlySecond, n int) float64 {
	first, second, all := float64(onlyFirst), float64(onlySecond), float64(n)
	// The likeliest chance of "only first", if the difference is x, is the greater root of 2n·q² + b·q + c = 0.
	b := (2*all-second+first)*x - second - first
	c := -first * x * (1 - x)
	q := (math.Sqrt(max(b*b-8*all*c, 0)) - b) / (4 * all)
	away := second - first - all*x
	if away == 0 {
		return 0
	}
	return away / math.Sqrt(max(all*(2*q+x*(1-x)), 0))
}

// tangoLimit returns the point between low and high at which holds becomes false.
func tangoLimit(low, high float64, holds func(float64) bool) float64 {
	for range 60 {
		middle := (low + high) / 2
		if holds(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return (low + high) / 2
}

// Holm returns p-values corrected for several comparisons: comparing each with 5 % makes a wrong rejection in at most 5
// % of all families, however the comparisons depend on each other. The smallest is multiplied by their number, the next
// by one less, and so on. None is below the one before it, and none is above 1.
//
// Source: S. Holm, A Simple Sequentially Rejective Multiple Test Procedure, Scandinavian Journal of Statistics 6
// (1979).
func Holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	adjusted := make([]float64, len(p))
	least := 0.0
	for rank, i := range order {
		least = max(least, min(1, p[i]*float64(len(p)-rank)))
		adjusted[i] = least
	}
	return adjusted
}
