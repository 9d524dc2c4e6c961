package stats

import "math"

// widenPassFail widens the interval of a difference of pass or fail in clusters by every value at which so few
// differing pairs as were seen are no surprise. Where pairs rarely differ, and those of one cluster are alike, a sample
// often misses the clusters that lose: then its variance is small just because it is near 0, and an interval of that
// variance is too short. But differences of −1, 0 and 1 with the mean x have a variance of at least |x|(1−|x|),
// whatever the sample shows. So x belongs to the interval where the mean lies within t standard errors of that
// variance, raised by the design effect. An interval that leaves out 0 still does, as that bound is 0 at 0; so no
// verdict of better or worse depends on it.
//
// Source: E. B. Wilson's score interval (as for Wilson) with t in place of z and the number of pairs divided by the
// design effect, as is usual for proportions in clusters: SAS/STAT, The SURVEYFREQ Procedure, "modified Wilson
// (score)"; J. N. K. Rao and A. J. Scott, A Simple Method for the Analysis of Clustered Binary Data, Biometrics 48
// (1992), 577–585, divide counts likewise. Here x is a difference and |x|(1−|x|) its least variance, so that no text
// promises the coverage: TestRareCoverage measures it. The design effect is the largest of 1, the one seen, and 1 +
// (Σs²/n − 1)·ICC for clusters of s pairs, which is L. Kish's 1 + (s − 1)·ICC (Survey Sampling, 1965) with the size of
// the cluster in which the mean pair stands.
func (c *comparison) widenPassFail(d *Difference) {
	if !c.PassFail || c.pairs.notPassFail || d.N == d.Clusters || c.gain.unknown() || c.gain.alike() {
		return
	}
	n, squares := float64(d.N), 0.0
	for _, s := range c.spreads {
		squares += s.n * s.n
	}
	effect := max(1, designEffect(c.spreads, d.SE), 1+(squares/n-1)*max(icc(c.spreads), 0))
	t := tQuantile(0.5+Confidence/2, d.df)
	k := t * t * effect / n
	d.Interval[0] = lowestAccepted(d.gain, d.Interval[0], k)
	d.Interval[1] = 0 - lowestAccepted(-d.gain, 0-d.Interval[1], k)
}

// lowestAccepted returns the least x on the same side of 0 as low with (mean − x)² ≤ k·|x|(1−|x|); low where that is
// less.
func lowestAccepted(mean, low, k float64) float64 {
	side := 1.0
	if low <= 0 {
		side = -1
	}
	// With s = |x|: (1+k)·s² + b·s + mean² = 0 at both ends of what is taken.
	b := -2*side*mean - k
	root := b*b - 4*(1+k)*mean*mean
	if root < 0 || b > 0 {
		return low
	}
	return min(low, side*(-b-side*math.Sqrt(root))/(2*(1+k)))
}
