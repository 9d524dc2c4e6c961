package stats

import (
	"math"
	"slices"
)

// midShare returns the share of the values of which all others lie at or below x, if those equal to x count half;
// between two values it is interpolated. It is never 0 and never 1. Values that are equal make ordinary shares jump:
// with few pairs that differ, a test by them would hardly ever reject.
//
// Source: Y. Ma, M. G. Genton and E. Parzen, Asymptotic Properties of Sample Quantiles of Discrete Distributions,
// Annals of the Institute of Statistical Mathematics 63 (2011); H. O. Lancaster, Significance Tests in Discrete
// Distributions, JASA 56 (1961), for the half ("mid-p").
func midShare(sorted []float64, x float64) float64 {
	from, to := blockOf(sorted, x)
	switch {
	case to > from:
		return midOf(sorted, from, to)
	case from == 0 || from == len(sorted):
		return midOf(sorted, from, from)
	}
	low, high := sorted[from-1], sorted[from]
	a, b := blockShare(sorted, low), blockShare(sorted, high)
	switch {
	case math.IsInf(low, -1):
		return b
	case math.IsInf(high, 1):
		return a
	}
	return a + (b-a)*(x-low)/(high-low)
}

// midQuantile returns the value at which midShare is share, or the first or last value when share lies beyond it.
func midQuantile(sorted []float64, share float64) float64 {
	last := len(sorted) - 1
	at := sorted[min(max(int(share*float64(len(sorted))), 0), last)]
	from, to := blockOf(sorted, at)
	low, high := at, at
	switch mid := midOf(sorted, from, to); {
	case mid < share && to <= last:
		high = sorted[to]
	case mid > share && from > 0:
		low = sorted[from-1]
	}
	if low == high || math.IsInf(low, -1) {
		return low
	}
	if math.IsInf(high, 1) {
		return high
	}
	a, b := blockShare(sorted, low), blockShare(sorted, high)
	return low + (high-low)*(share-a)/(b-a)
}

// blockOf returns the places from and to in sorted between which all values are x.
func blockOf(sorted []float64, x float64) (from, to int) {
	from, _ = slices.BinarySearch(sorted, x)
	to, _ = slices.BinarySearch(sorted, math.Nextafter(x, math.Inf(1)))
	if math.IsInf(x, 1) {
		to = len(sorted)
	}
	return from, to
}

func blockShare(sorted []float64, x float64) float64 {
	from, to := blockOf(sorted, x)
	return midOf(sorted, from, to)
}

// midOf is the share of a block. What was observed counts as one value more, so that nothing is impossible.
func midOf(sorted []float64, from, to int) float64 {
	return (float64(from+to)/2 + 0.5) / float64(len(sorted)+1)
}
