package stats

import "math"

// VarianceSplit says where the variance of repeated scores comes from.
type VarianceSplit struct {
	// Tests counts the tests (or sessions) with a score. Mean is the mean of their means, 0 without any.
	Tests int
	Mean  float64
	// Model is the variance between repeats of one test: the mean of the sample variances within. It is nil when no
	// test has two scores.
	Model *float64
	// Test is the variance between tests that repeats do not explain: the variance of the means, less what Model leaves
	// in a mean, at least 0. It is nil when Model is, and with fewer than two tests.
	Test *float64
}

// RepeatVariance collects the scores of tests that were repeated. The zero value is empty and ready; it is not safe for
// concurrent use.
type RepeatVariance struct {
	means, within spread
	errors        spread // 1/k of tests with k scores
}

// Add adds the scores of a test. Those that are not finite numbers are left out.
func (v *RepeatVariance) Add(scores []float64) {
	var of spread
	for _, x := range scores {
		if finite(x) {
			of.add(x)
		}
	}
	if of.n == 0 {
		return
	}
	v.means.add(of.mean)
	v.errors.add(1 / of.n)
	if of.n > 1 {
		v.within.add(of.squares / (of.n - 1))
	}
}

// Split returns the split of what has been added. Where tests have k scores each, what Model leaves in a mean is
// Model/k; else it is the mean of that over the tests.
//
// Source: S. R. Searle, G. Casella and C. E. McCulloch, Variance Components (1992), chapter 3, estimation by analysis
// of variance in the one-way random model; a negative estimate is 0.
func (v *RepeatVariance) Split() VarianceSplit {
	s := VarianceSplit{Tests: int(v.means.n), Mean: v.means.mean}
	if v.within.n == 0 {
		return s
	}
	s.Model = new(v.within.mean)
	if v.means.n > 1 {
		s.Test = new(math.Max(0, v.means.squares/(v.means.n-1)-v.within.mean*v.errors.mean))
	}
	return s
}
