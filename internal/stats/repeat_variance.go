package stats

import "gonum.org/v1/gonum/stat"

// RepeatVariance says where the variance of repeated scores comes from.
type RepeatVariance struct {
	// Tests counts the tests (or sessions) with a score, and Mean is the mean of their means. It is 0 without any.
	Tests int
	Mean  float64
	// Model is the variance between repeats of one test: the mean of the sample variances within. It is nil when no test has two scores.
	Model *float64
	// Test is the variance between tests that repeats do not explain: the variance of the means, less what Model leaves in a mean, at
	// least 0. It is nil when Model is, and with fewer than two tests.
	Test *float64
}

// RepeatVarianceOf splits the variance of the scores of tests that were repeated, scores[i] being those of test i. Scores that are not finite
// numbers are left out. Where tests have k scores each, what Model leaves in a mean is Model/k; else it is the mean of that over the tests.
//
// Source: S. R. Searle, G. Casella and C. E. McCulloch, Variance Components (1992), chapter 3, estimation by analysis of variance in the
// one-way random model; a negative estimate is 0.
func RepeatVarianceOf(scores [][]float64) RepeatVariance {
	var v RepeatVariance
	var means, within []float64
	left := 0.0 // the mean of 1/k
	for _, of := range scores {
		var finiteOnes []float64
		for _, x := range of {
			if finite(x) {
				finiteOnes = append(finiteOnes, x)
			}
		}
		k := len(finiteOnes)
		if k == 0 {
			continue
		}
		means, left = append(means, stat.Mean(finiteOnes, nil)), left+1/float64(k)
		if k > 1 {
			within = append(within, stat.Variance(finiteOnes, nil))
		}
	}
	v.Tests = len(means)
	if v.Tests == 0 {
		return v
	}
	v.Mean = stat.Mean(means, nil)
	if len(within) == 0 {
		return v
	}
	v.Model = new(stat.Mean(within, nil))
	if v.Tests > 1 {
		v.Test = new(max(0, stat.Variance(means, nil)-*v.Model*left/float64(v.Tests)))
	}
	return v
}
