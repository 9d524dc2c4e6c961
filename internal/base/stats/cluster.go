package stats

import (
	"cmp"
	"math"
	"slices"
)

// Clusters collects observations that come in clusters: the turns of a conversation, the trials of a test, the sessions
// of a user. Observations of one cluster are similar, so a thousand turns of ten conversations say little more than ten
// turns. The zero value is empty and ready; it is not safe for concurrent use.
type Clusters struct {
	of      map[string]*spread
	dropped int
}

// Add adds an observation to its cluster. One that is not a finite number is dropped and counted as dropped.
func (c *Clusters) Add(cluster string, x float64) {
	if !finite(x) {
		c.dropped++
		return
	}
	if c.of == nil {
		c.of = map[string]*spread{}
	}
	s := c.of[cluster]
	if s == nil {
		s = &spread{}
		c.of[cluster] = s
	}
	s.add(x)
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// spread summarises the observations of a cluster: their number, their mean, and the sum of squared distances from it.
//
// Source: B. P. Welford, Note on a Method for Calculating Corrected Sums of Squares and Products, Technometrics 4
// (1962).
type spread struct{ n, mean, squares float64 }

func (s *spread) add(x float64) {
	s.n++
	d := x - s.mean
	s.mean += d / s.n
	s.squares += d * (x - s.mean)
}

func (s spread) sum() clusterSum { return clusterSum{s.n, s.n * s.mean} }

// spreads returns the clusters in an order that does not depend on the order in which their observations came.
func (c *Clusters) spreads() []spread {
	all := make([]spread, 0, len(c.of))
	for _, s := range c.of {
		all = append(all, *s)
	}
	slices.SortFunc(all, func(a, b spread) int {
		return cmp.Or(cmp.Compare(a.mean, b.mean), cmp.Compare(a.n, b.n), cmp.Compare(a.squares, b.squares))
	})
	return all
}

// clusterSum is what a cluster contributes to a mean: the number of observations and their sum.
type clusterSum struct{ n, sum float64 }

// clusteredMean returns the sampling distribution of the mean of all observations when those of one cluster depend on
// each other: the deviations of a cluster are added up before they are squared. A cluster pulls the mean towards
// itself, in proportion to its share of the observations, and so seems to deviate less than it does. This is corrected;
// the degrees of freedom follow from the correction. For G clusters of one size, the correction is G/(G−1) and there
// are G−1 degrees. With one observation a cluster, all is as usual.
//
// Source: K.-Y. Liang and S. L. Zeger, Longitudinal Data Analysis Using Generalized Linear Models, Biometrika 73
// (1986); E. Miller, Adding Error Bars to Evals (2024); R. M. Bell and D. F. McCaffrey, Bias Reduction in Standard
// Errors for Linear Regression with Multi-Stage Samples, Survey Methodology 28 (2002), for the correction ("CR2") and
// the degrees of freedom.
func clusteredMean(sums []clusterSum) estimate {
	var all clusterSum
	for _, c := range sums {
		all.n, all.sum = all.n+c.n, all.sum+c.sum
	}
	s := estimate{clusters: len(sums), se: math.Inf(1)}
	if len(sums) == 0 {
		return s
	}
	s.mean = all.sum / all.n
	if len(sums) < 2 {
		return s
	}
	corrected, shares, first, second := 0.0, 0.0, 0.0, 0.0
	for _, c := range sums {
		off, share := c.sum-c.n*s.mean, c.n/all.n
		s.unequal = s.unequal || c.n != sums[0].n
		corrected += off * off / (1 - share)
		shares += share * share
		pull := share * share / (1 - share)
		first, second = first+pull, second+pull*pull
	}
	s.se, s.df = math.Sqrt(corrected)/all.n, 1/(shares+first*first-second)
	return s
}
