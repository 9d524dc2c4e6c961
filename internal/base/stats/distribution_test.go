package stats

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// TestDistributions compares each with that of a library of distributions, which the program itself does without: it
// brings two megabytes of linear algebra.
func TestDistributions(t *testing.T) {
	same := func(what string, got, want, within float64, at ...float64) {
		t.Helper()
		if !(math.Abs(got-want) <= within*max(1, math.Abs(want))) {
			t.Errorf("%s at %v: %v, want %v", what, at, got, want)
		}
	}
	for _, p := range []float64{1e-9, 0.01, 0.025, 0.3, 0.5, 0.8, 0.975, 0.999} {
		same("normal quantile", normalQuantile(p), distuv.UnitNormal.Quantile(p), 1e-12, p)
		same("normal", normalBelow(normalQuantile(p)), p, 1e-12, p)
		for _, df := range []float64{1, 1.7, 5, 48.3, 10_000, 1e6} {
			of := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: df}
			same("t quantile", tQuantile(p, df), of.Quantile(p), 1e-9, p, df)
			same("t tail", tTail(of.Quantile(p), df), 1-p, 2e-9, p, df)
		}
	}
	for _, df := range []float64{1, 1.3, 2, 7.5, 49, 400, 9_999} {
		critical := tQuantile(0.975, df)
		for _, shift := range []float64{0, 0.3, 1, 2.8, 5, 14} {
			same("noncentral t", shiftedTail(critical, shift, df),
				1-distuv.NoncentralT{Nu: df, Mu: shift}.CDF(critical), 1e-9, df, shift)
		}
	}
	same("noncentral t of many", shiftedTail(1.96, 2.8, 1e6), distuv.UnitNormal.Survival(1.96-2.8), 1e-12)
	for _, n := range []int{1, 10, 3_000} {
		for _, p := range []float64{1e-6, 0.2, 0.999} {
			of := distuv.Binomial{N: float64(n), P: p}
			for _, k := range []int{0, 1, n / 5, n} {
				same("binomial", binomialChance(k, n, p), of.Prob(float64(k)), 1e-9, float64(k), float64(n), p)
			}
		}
	}
}
