package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

// alphaResamples is how often AlphaInterval draws. It is less than Resamples because each draw computes α anew.
const alphaResamples = 2_000

// AlphaInterval returns the 95 % interval of alpha, one of NominalAlpha, OrdinalAlpha and IntervalAlpha. Draws that leave α undefined are
// not counted. The interval is {−1, 1} with fewer than two units, or when half of all draws leave α undefined. It is {1, 1} when all units
// agree without exception; RuleOfThree then bounds the share that may still disagree.
//
// Source: K. Krippendorff, Bootstrapping Distributions for Krippendorff's Alpha (2006), with whole units drawn in place of pairs; the
// levels are those of estimate.interval.
func AlphaInterval[L any](units [][]L, seed uint64, alpha func([][]L) (float64, bool)) [2]float64 {
	random := rand.NewPCG(seed, 0)
	drawn := make([][]L, len(units))
	var alphas []float64
	for range alphaResamples {
		for i := range drawn {
			drawn[i] = units[((random.Uint64()>>32)*uint64(len(units)))>>32]
		}
		if a, defined := alpha(drawn); defined {
			alphas = append(alphas, a)
		}
	}
	if len(units) < 2 || len(alphas) < alphaResamples/2 {
		return [2]float64{-1, 1}
	}
	slices.Sort(alphas)
	g := float64(len(units))
	return estimate{se: 1, df: g - 1, clusters: len(units), resampled: alphas, narrowness: math.Sqrt((g - 1) / g)}.interval()
}
