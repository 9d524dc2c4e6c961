package stats

import "math"

// The normal mixture of alwaysMean.
const (
	// minAlwaysClusters is the least number of clusters from which a variance is believed at every look.
	minAlwaysClusters = 20
	// mixtureClusters is the number of clusters for which the interval is narrowest; it hardly matters within a factor
	// of ten.
	mixtureClusters = 200
)

// alwaysHalf returns half the width of the always-valid interval of a mean of n independent observations with the
// standard deviation sd: the mean ± alwaysHalf holds the true mean at every look with probability 1 − alpha. It mixes
// over true means that are normal with a variance of ρ·sd², where ρ makes it narrowest at mixtureClusters.
//
// Source: H. Robbins, Statistical Methods Related to the Law of the Iterated Logarithm, The Annals of Mathematical
// Statistics 41 (1970); R. Johari, L. Pekelis and D. Walsh, Always Valid Inference (2017), the mixture sequential
// probability ratio test; I. Waudby-Smith et al., Time-uniform Central Limit Theory and Asymptotic Confidence
// Sequences, The Annals of Statistics 52 (2024), for a variance that is estimated and for ρ.
func alwaysHalf(sd, n, alpha float64) float64 {
	twice := -2 * math.Log(alpha)
	ρ := (twice + math.Log1p(twice)) / mixtureClusters
	return sd / math.Sqrt(n) * math.Sqrt((1+n*ρ)/(n*ρ)*(twice+math.Log1p(n*ρ)))
}
