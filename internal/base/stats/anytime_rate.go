package stats

import (
	"math"

	"gonum.org/v1/gonum/integrate/quad"
)

// trits counts observations of 1, −1 and 0: pairs that the candidate alone passed, that the baseline alone passed, and
// all others.
type trits struct{ won, lost, tied float64 }

func (c trits) mean() float64 { return (c.won - c.lost) / (c.won + c.lost + c.tied) }

// alwaysInterval returns the always-valid interval of the true mean: with probability 1 − alpha it holds the true mean
// at every look, however many there are, and for every number of observations. It holds the differences for which
// logWealth stays below log(1/alpha). It leaves out 0 exactly when the beta-binomial mixture over discordant pairs
// rejects. Without observations it is [−1, 1].
//
// Source: H. Robbins, Statistical Methods Related to the Law of the Iterated Logarithm, The Annals of Mathematical
// Statistics 41 (1970); I. Waudby-Smith and A. Ramdas, Estimating Means of Bounded Random Variables by Betting, JRSS B
// 86 (2024).
func (c trits) alwaysInterval(alpha float64) [2]float64 {
	if c.won+c.lost+c.tied == 0 {
		return [2]float64{-1, 1}
	}
	return [2]float64{c.alwaysLow(alpha), 0 - trits{c.lost, c.won, c.tied}.alwaysLow(alpha)}
}

// alwaysLow returns the lower end of alwaysInterval.
func (c trits) alwaysLow(alpha float64) float64 {
	excluded := func(x float64) bool { return c.logWealth(x) >= -math.Log(alpha) }
	low, high := -1.0, c.mean()
	if low >= high { // all is lost
		return low
	}
	switch {
	case high > 0 && excluded(0):
		low = 0
	case high > 0:
		high = 0
	}
	for high-low > 1e-7 {
		if middle := (low + high) / 2; excluded(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	if low == -1 { // nothing was excluded
		return low
	}
	return high
}

// betNodes is how many points logWealth adds up; the integrand is smooth, and these leave an error below 1e-9.
const betNodes = 64

// logWealth returns the logarithm of what a gambler has made of 1 who bets against a true mean of x, −1 < x < 1. An
// observation y multiplies a stake by 1 + λ·(y − x), which is fair if x is the mean; λ is spread evenly over all values
// that cannot ruin. At x = 0 this is the beta-binomial mixture over discordant pairs, 2^D · B(won+1, lost+1), in which
// ties do not matter.
func (c trits) logWealth(x float64) float64 {
	from, to := -1/(1-x), 1/(1+x)
	log := func(bet float64) float64 {
		sum := 0.0
		if c.won > 0 {
			sum += c.won * math.Log1p(bet*(1-x))
		}
		if c.lost > 0 {
			sum += c.lost * math.Log1p(-bet*(1+x))
		}
		if c.tied > 0 {
			sum += c.tied * math.Log1p(-bet*x)
		}
		return sum
	}
	mode := c.bestBet(x, from, to)
	best := log(mode)
	square := func(y float64) float64 { return (y - x) * (y - x) / ((1 + mode*(y-x)) * (1 + mode*(y-x))) }
	curvature := 0.0
	for _, of := range [][2]float64{{c.won, 1}, {c.lost, -1}, {c.tied, 0}} {
		if of[0] > 0 {
			curvature += of[0] * square(of[1])
		}
	}
	// The logarithm is concave, so that next to nothing lies twelve deviations away from the mode.
	reach := 12 / math.Sqrt(curvature)
	if !(curvature > 0) {
		reach = math.Inf(1)
	}
	area := quad.Fixed(func(bet float64) float64 { return math.Exp(log(bet) - best) },
		max(from, mode-reach), min(to, mode+reach), betNodes, quad.Legendre{}, 0)
	return best + math.Log(area/(to-from))
}

// bestBet returns the bet between from and to that would have made the most.
func (c trits) bestBet(x, from, to float64) float64 {
	slope := func(bet float64) float64 {
		return c.won*(1-x)/(1+bet*(1-x)) - c.lost*(1+x)/(1-bet*(1+x)) - c.tied*x/(1-bet*x)
	}
	for range 50 {
		if middle := (from + to) / 2; slope(middle) > 0 {
			from = middle
		} else {
			to = middle
		}
	}
	return (from + to) / 2
}
