package stats

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// normalQuantile returns the quantile of the standard normal distribution at probability p.
func normalQuantile(p float64) float64 { return mathext.NormalQuantile(p) }

// normalBelow returns the probability that a standard normal number is at most x.
func normalBelow(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }

// tQuantile returns the quantile of Student's t at probability p. Degrees of freedom need not be whole.
//
// Source: M. Abramowitz and I. A. Stegun, Handbook of Mathematical Functions (1964), 26.7.1: t exceeds a value on
// either side with the probability I(df/(df + t²)), I being the incomplete beta function of df/2 and ½.
func tQuantile(p, df float64) float64 { //nolint:unparam // as tables have it
	x := mathext.InvRegIncBeta(df/2, 0.5, 2*min(p, 1-p))
	t := math.Sqrt(df * (1 - x) / x)
	if p < 0.5 {
		return -t
	}
	return t
}

// tTail returns the probability that Student's t exceeds t.
func tTail(t, df float64) float64 {
	beyond := mathext.RegIncBeta(df/2, 0.5, df/(df+t*t)) / 2
	if t < 0 {
		return 1 - beyond
	}
	return beyond
}

// shiftedTail returns the probability that t exceeds critical, which is above 0, when the true mean is shift standard
// errors above 0: the noncentral t distribution. It uses the normal distribution for very many degrees of freedom,
// where the series would take too long.
//
// Source: R. V. Lenth, Algorithm AS 243: Cumulative Distribution Function of the Non-Central t Distribution, Applied
// Statistics 38 (1989). It adds up incomplete beta functions with the weights of two Poisson distributions. Each beta
// function follows from the one before.
func shiftedTail(critical, shift, df float64) float64 {
	if df > 10_000 {
		return normalBelow(shift - critical)
	}
	x, mean := critical*critical/(df+critical*critical), shift*shift/2
	halves, wholes := newBetas(0.5, df/2, x), newBetas(1, df/2, x)
	p := math.Exp(-mean) / 2
	q := shift * math.Exp(-mean) / math.Sqrt(2*math.Pi)
	below := normalBelow(-shift)
	for j := 0.0; j < maxShiftedTerms; j++ {
		term := p*halves.value + q*wholes.value
		if below += term; j > mean && term < 1e-16 {
			break
		}
		p, q = p*mean/(j+1), q*mean/(j+1.5)
		halves.next()
		wholes.next()
	}
	return 1 - below
}

// maxShiftedTerms bounds the series of shiftedTail. With weights that are still numbers, far fewer are needed.
const maxShiftedTerms = 2_000

// betas are incomplete beta functions at x, of a, a+1, a+2, … and b.
type betas struct{ a, b, x, value, step float64 }

func newBetas(a, b, x float64) *betas {
	step := math.Exp(a*math.Log(x)+b*math.Log1p(-x)-mathext.Lbeta(a, b)) / a
	return &betas{a, b, x, mathext.RegIncBeta(a, b, x), step}
}

// next goes on to a+1.
//
// Source: M. Abramowitz and I. A. Stegun, Handbook of Mathematical Functions (1964), 26.5.16.
func (i *betas) next() {
	i.value = max(0, i.value-i.step)
	i.step *= i.x * (i.a + i.b) / (i.a + 1)
	i.a++
}

// binomialChance returns the probability of k successes in n tries. P lies between 0 and 1.
func binomialChance(k, n int, p float64) float64 {
	choices := logFactorial(n) - logFactorial(k) - logFactorial(n-k)
	return math.Exp(choices + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
}

func logFactorial(n int) float64 {
	log, _ := math.Lgamma(float64(n) + 1)
	return log
}
