package stats

import (
	"math"
)

// exactPowerPairs is the number of expected discordant pairs up to which the power of McNemar's test is summed exactly.
const exactPowerPairs = 2_000

// discordant returns the share of pairs that only one of the two passed.
func (d *Difference) discordant() float64 {
	return ratio(d.onlyBaseline+d.onlyCandidate, d.Clusters)
}

// detectableRate returns the smallest true difference of two paired rates that McNemar's exact test at 5 % finds among
// n pairs with the probability power. discordant is the share of pairs that one of the two alone passes; a greater
// difference raises it. It is infinite when there are so few pairs that the test could not even find one system passing
// all and the other none.
func detectableRate(n int, discordant, power float64) float64 {
	test := mcNemarTest{}
	if test.power(n, discordant, 1) < power {
		return math.Inf(1)
	}
	low, high := 0.0, 1.0
	for high-low > 1e-5 {
		middle := (low + high) / 2
		if test.power(n, discordant, middle) < power {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// mcNemarTest is McNemar's exact test at 5 %. It remembers its critical numbers.
type mcNemarTest struct {
	// needed[n] is how many of n discordant pairs must favour the same system.
	needed []int
}

// power returns the probability that the test finds a true difference of paired rates, in its direction, among n pairs.
// The number of discordant pairs is binomial; given that number, the number of those that favour the better system is
// binomial, too.
//
// Source: S. W. Duffy, Asymptotic and Exact Power for the McNemar Test and Its Analogue with R Controls per Case,
// Biometrics 40 (1984), for the sum; R. J. Connor, Sample Size for Testing Differences in Proportions for the
// Paired-Sample Design, Biometrics 43 (1987), for many pairs, with a correction for continuity.
func (t *mcNemarTest) power(n int, discordant, difference float64) float64 {
	discordant = max(discordant, difference)
	expected := float64(n) * discordant
	if expected > exactPowerPairs {
		z := normalQuantile(1 - significance/2)
		above := float64(n)*difference - 1 - z*math.Sqrt(expected)
		return normalBelow(above / math.Sqrt(expected-float64(n)*difference*difference))
	}
	favour := min((discordant+difference)/(2*discordant), 1)
	if discordant >= 1 { // every pair is, and the logarithm below would be that of 0
		return t.tail(n, favour)
	}
	off := 6 * math.Sqrt(expected*(1-discordant))
	from, to := max(0, int(expected-off)), min(n, int(expected+off)+1)
	power := 0.0
	for pairs := from; pairs <= to; pairs++ {
		power += binomialChance(pairs, n, discordant) * t.tail(pairs, favour)
	}
	return power
}

// tail returns the probability that the test rejects in favour of a system when each of the discordant pairs favours it
// with probability favour.
func (t *mcNemarTest) tail(pairs int, favour float64) float64 {
	for n := len(t.needed); n <= pairs; n++ {
		needed := 1
		if n > 0 {
			needed = t.needed[n-1] // or one more
		}
		for 2*binomialTail(needed, n, 0.5) > significance {
			needed++
		}
		t.needed = append(t.needed, needed)
	}
	return binomialTail(t.needed[pairs], pairs, favour)
}
