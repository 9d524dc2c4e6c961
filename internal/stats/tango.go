package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// PairedRateInterval returns the 95 % score interval of the difference of two rates, second minus first, over n units. onlyFirst units
// were passed by the first alone, onlySecond by the second alone. Unlike the usual interval, it has a width when no unit differs:
// ±3.84/(n + 3.84).
//
// Source: T. Tango, Equivalence Test and Confidence Interval for the Difference in Proportions for the Paired-Sample Design,
// Statistics in Medicine 17 (1998).
func PairedRateInterval(onlyFirst, onlySecond, n int) [2]float64 {
	if n <= 0 {
		return [2]float64{-1, 1}
	}
	z := distuv.UnitNormal.Quantile(0.5 + Confidence/2)
	at := float64(onlySecond-onlyFirst) / float64(n)
	return [2]float64{
		tangoLimit(-1, at, func(x float64) bool { return tangoZ(x, onlyFirst, onlySecond, n) > z }),
		tangoLimit(at, 1, func(x float64) bool { return tangoZ(x, onlyFirst, onlySecond, n) > -z }),
	}
}

// pairedRateInterval is PairedRateInterval, extended to 0 when McNemar's exact test does not reject 0. So test and interval never
// contradict each other.
func pairedRateInterval(lost, won, n int) [2]float64 {
	interval := PairedRateInterval(lost, won, n)
	if McNemar(lost, won) > significance {
		interval[0], interval[1] = min(interval[0], 0), max(interval[1], 0)
	}
	return interval
}

// tangoTail returns the one-sided p-value of the hypothesis that the true difference is less than x.
func tangoTail(x float64, onlyFirst, onlySecond, n int) float64 {
	return distuv.UnitNormal.Survival(tangoZ(x, onlyFirst, onlySecond, n))
}

// tangoZ returns the score statistic of a true difference of x: how far the observed difference is above x, in the standard errors that
// hold if x is true. It falls as x rises.
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
