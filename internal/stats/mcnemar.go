package stats

import "gonum.org/v1/gonum/mathext"

// McNemar returns the two-sided exact p-value of the hypothesis that two systems fail equally often. onlyFirst units were passed by the
// first system alone, onlySecond by the second alone. Units that both passed, or both failed, do not matter. Without any other unit it is 1.
//
// Source: Q. McNemar, Note on the Sampling Error of the Difference Between Correlated Proportions or Percentages, Psychometrika 12 (1947),
// with the binomial distribution in place of χ².
func McNemar(onlyFirst, onlySecond int) float64 {
	n := onlyFirst + onlySecond
	return min(1, 2*binomialTail(max(onlyFirst, onlySecond), n, 0.5))
}

// McNemarMidP is McNemar without half the probability of what was observed. It is wrong slightly less often than the promised 5 %, while
// the exact test is wrong much less often. It is not exact, and can be wrong slightly more often.
//
// Source: M. W. Fagerland, S. Lydersen and P. Laake, The McNemar Test for Binary Matched-Pairs Data: Mid-p and Asymptotic Are Better
// than Exact Conditional, BMC Medical Research Methodology 13 (2013).
func McNemarMidP(onlyFirst, onlySecond int) float64 {
	n, k := onlyFirst+onlySecond, max(onlyFirst, onlySecond)
	if onlyFirst == onlySecond {
		return 1
	}
	return binomialTail(k, n, 0.5) + binomialTail(k+1, n, 0.5)
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
