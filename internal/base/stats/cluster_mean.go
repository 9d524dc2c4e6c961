package stats

import "math"

// ClusteredMean is a mean of observations that come in clusters, with the clusters' effect on its precision.
type ClusteredMean struct {
	// N counts the observations, Clusters their clusters, and Dropped those that are not finite numbers and count
	// nowhere else.
	N, Clusters, Dropped int
	// Mean is the mean of all observations; larger clusters weigh more.
	Mean float64
	// SE is the standard error of Mean. DF is its degrees of freedom: one less than the clusters, or fewer when their
	// sizes differ. With fewer than two clusters, SE is infinite and DF 0.
	SE, DF float64
	// Interval is Mean ± t·SE at 95 % or, where six or more clusters differ in size, that of random halves of them
	// (halfMeans). It is infinite with fewer than two clusters, or with fewer than six that all have the same mean.
	Interval [2]float64
	// ICC is the intraclass correlation: the share of the variance that lies between clusters. It is 1 when the
	// observations of a cluster are equal, and 0 when they are no more alike than any others. It is 0 when every
	// cluster has one observation, and can be slightly below 0.
	ICC float64
	// DesignEffect is the factor by which the clusters raise the variance of the mean, (SE / the usual standard
	// error)². N observations are worth N / DesignEffect independent ones. It is 1 when it cannot be estimated.
	DesignEffect float64
}

// meanResamples is less than Resamples: nothing is decided by the interval of a mean.
const meanResamples = 2_000

// Mean returns the mean of the observations added so far.
//
// Source: as for clusteredMean; L. Kish, Survey Sampling (1965), for the design effect.
func (c *Clusters) Mean() ClusteredMean {
	of := c.spreads()
	m := ClusteredMean{Clusters: len(of), Dropped: c.dropped, ICC: icc(of)}
	sums := make([]clusterSum, len(of))
	for i, s := range of {
		sums[i] = s.sum()
		m.N += int(s.n)
	}
	mean := clusteredMean(sums)
	if mean.unequal && mean.wantsResampling() {
		mean.resampled = halfMeans([][]clusterSum{sums}, meanResamples, 42)[0]
	}
	m.Mean, m.SE, m.DF, m.Interval = mean.mean, mean.se, mean.df, mean.interval()
	m.DesignEffect = designEffect(of, m.SE)
	return m
}

// icc returns the estimate of the intraclass correlation by analysis of variance, for clusters of different sizes.
//
// Source: A. Donner, A Review of Inference Procedures for the Intraclass Correlation Coefficient in the One-Way Random
// Effects Model, International Statistical Review 54 (1986); ICC(1,1) of P. E. Shrout and J. L. Fleiss, Intraclass
// Correlations: Uses in Assessing Rater Reliability, Psychological Bulletin 86 (1979).
func icc(of []spread) float64 {
	between, within, size := varianceComponents(of)
	if size <= 0 || between+(size-1)*within <= 0 {
		return 0
	}
	return (between - within) / (between + (size-1)*within)
}

// varianceComponents returns the mean squares between and within clusters and the size of a cluster that balances them.
// Without two clusters, or two observations in one of them, size is 0.
func varianceComponents(of []spread) (between, within, size float64) {
	var all spread
	sizes := 0.0
	for _, s := range of {
		mean := (all.n*all.mean + s.n*s.mean) / (all.n + s.n)
		all = spread{n: all.n + s.n, mean: mean}
		within += s.squares
		sizes += s.n * s.n
	}
	g := float64(len(of))
	if g < 2 || all.n <= g {
		return 0, 0, 0
	}
	for _, s := range of {
		between += s.n * (s.mean - all.mean) * (s.mean - all.mean)
	}
	return between / (g - 1), within / (all.n - g), (all.n - sizes/all.n) / (g - 1)
}

// designEffect returns the square of se over the square of the standard error that ignores clusters.
func designEffect(of []spread, se float64) float64 {
	n, sum := 0.0, 0.0
	for _, s := range of {
		n, sum = n+s.n, sum+s.n*s.mean
	}
	squares := 0.0
	for _, s := range of {
		d := s.mean - sum/n
		squares += s.squares + s.n*d*d
	}
	if squares <= 0 || math.IsInf(se, 0) {
		return 1
	}
	return se * se * n * (n - 1) / squares
}
