package stats

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mathext"
)

// TestWealthIsBetaBinomial: against a true mean of 0 the wealth is 2^D·B(won + 1, lost + 1), whatever is tied.
func TestWealthIsBetaBinomial(t *testing.T) {
	for _, c := range []trits{
		{0, 0, 9},
		{1, 0, 0},
		{7, 0, 3},
		{3, 5, 1},
		{40, 60, 1_000},
		{1_000, 1_100, 5},
		{20_000, 20_000, 1e6},
		{0, 3_000, 1},
	} {
		want := (c.won+c.lost)*math.Ln2 + mathext.Lbeta(c.won+1, c.lost+1)
		if got := c.logWealth(0); math.Abs(got-want) > 1e-6*max(1, math.Abs(want)) {
			t.Errorf("%+v: log of the wealth is %v, want %v", c, got, want)
		}
	}
}

// TestWealthOfTies: against a true mean of x, n ties leave the mean of (1 − λ·x)ⁿ over −1/(1−x) < λ < 1/(1+x), whose
// integral is known.
func TestWealthOfTies(t *testing.T) {
	for _, n := range []float64{1, 10, 100, 10_000} {
		for _, x := range []float64{-0.5, -0.01, 1e-3, 0.2} {
			from, to := -1/(1-x), 1/(1+x)
			at := func(bet float64) float64 { return (n + 1) * math.Log1p(-bet*x) }
			upper, lower := max(at(from), at(to)), min(at(from), at(to))
			want := upper + math.Log1p(-math.Exp(lower-upper)) - math.Log((n+1)*math.Abs(x)*(to-from))
			if got := (trits{tied: n}).logWealth(x); math.Abs(got-want) > 1e-6*max(1, math.Abs(want)) {
				t.Errorf("%v ties against %v: %v, want %v", n, x, got, want)
			}
		}
	}
}
