package stats

import "math"

// FisherLess returns the one-sided exact p-value of the hypothesis that the first rate is not below the second: the
// probability, given the number of passes in both together, that at most passed of the first n pass. Without
// observations on both sides it is 1.
//
// Source: R. A. Fisher, The Design of Experiments (1935): the hypergeometric distribution given both margins.
func FisherLess(passed, n, otherPassed, other int) float64 {
	if n <= 0 || other <= 0 {
		return 1
	}
	choose := func(n, k int) float64 { return logFactorial(n) - logFactorial(k) - logFactorial(n-k) }
	all, p := passed+otherPassed, 0.0
	for k := max(0, all-other); k <= passed; k++ {
		p += math.Exp(choose(n, k) + choose(other, all-k) - choose(n+other, all))
	}
	return min(p, 1)
}
