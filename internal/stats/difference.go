package stats

import (
	"cmp"
	"math"
)

// The methods that Difference.Method names.
const (
	MethodT         = "t"         // Student's t with the clustered standard error
	MethodBootstrap = "bootstrap" // of whole clusters, percentiles
	MethodMcNemar   = "mcnemar"   // McNemar's exact test and Tango's interval
)

// Difference compares a candidate with a baseline in one metric. A difference is candidate minus baseline, whichever direction is better.
type Difference struct {
	// N counts the pairs, Clusters their clusters, Changed the pairs that differ, and Dropped the pairs without two finite scores, which count
	// nowhere else. When none of many pairs has changed, RuleOfThree(Clusters) bounds the share that may still change.
	N, Clusters, Changed, Dropped int
	// Baseline and Candidate are the mean scores over all pairs.
	Baseline, Candidate float64
	// Mean is the mean difference, SE its standard error and Interval its 95 % interval, by Method. SE and Interval are infinite with fewer than
	// two clusters, or with fewer than six that all have the same mean.
	Mean, SE float64
	Interval [2]float64
	Method   string
	// ICC and DesignEffect describe the differences; see ClusteredMean.
	ICC, DesignEffect float64
	// P is the two-sided p-value of "no difference", PInferior the one-sided p-value of "a loss beyond the margin". Verdict depends on the
	// adjusted ones. These equal P and PInferior until DecideTogether corrects them.
	P, AdjustedP                 float64
	PInferior, AdjustedPInferior float64
	Verdict                      Verdict
	// Detectable is the true difference, in either direction, that would be found better or worse with 80 % probability, given the variation
	// of the differences here. It is infinite when no difference would be found. It is 0 when nothing varies, which does not mean that every
	// difference would be found.
	Detectable float64

	gain, df                    float64 // gain is Mean when higher is better, else −Mean
	onlyBaseline, onlyCandidate int
}

// Compare compares the candidate with the baseline in this metric alone. For several metrics, pass their differences to DecideTogether.
func (p *Pairs) Compare(c Criterion) Difference {
	c.Margin = Margin{max(c.Margin.Absolute, 0), max(c.Margin.Relative, 0)}
	clusters := p.clusters()
	d := Difference{N: p.n, Clusters: len(clusters), Changed: p.changed, Dropped: p.dropped}
	sign := 1.0
	if c.LowerIsBetter {
		sign = -1
	}
	spreads, gains, kept := make([]spread, len(clusters)), make([]clusterSum, len(clusters)), make([]clusterSum, len(clusters))
	for i, of := range clusters {
		spreads[i] = of.difference
		sum := of.difference.sum()
		gains[i] = clusterSum{sum.n, sign * sum.sum}
		kept[i] = clusterSum{sum.n, sign*sum.sum + c.Margin.Relative*of.baseline}
		d.Baseline += of.baseline / float64(p.n)
	}
	d.ICC = icc(spreads)
	if c.PassFail && p.countable() && c.Margin.Relative == 0 {
		p.exact(&d, sign, c.Margin.Absolute)
	} else {
		resamples := max(cmp.Or(c.Resamples, Resamples), minResamples)
		gain := estimateOf(gains, resamples, c.Seed)
		tolerated := gain
		if c.Margin.Relative != 0 {
			tolerated = estimateOf(kept, resamples, c.Seed)
		}
		d.sampled(gain, tolerated, c.Margin.Absolute)
	}
	d.Mean = d.gain
	if sign < 0 { // 0 − x, so that 0 does not become −0
		d.Mean, d.Interval = 0-d.gain, [2]float64{0 - d.Interval[1], 0 - d.Interval[0]}
	}
	d.Candidate = d.Baseline + d.Mean
	d.DesignEffect = designEffect(spreads, d.SE)
	one := []Difference{d}
	DecideTogether(one)
	return one[0]
}

// sampled sets what follows from the sampling distributions of the gain, and of the gain plus the relative margin.
func (d *Difference) sampled(gain, tolerated estimate, margin float64) {
	d.Method = MethodT
	if gain.resampled != nil {
		d.Method = MethodBootstrap
	}
	d.gain, d.SE, d.df, d.Interval = gain.mean, gain.se, gain.df, gain.interval()
	d.P = min(1, 2*min(gain.pAtMost(0), gain.pAtLeast(0)))
	d.PInferior = tolerated.pBelow(-margin)
	if gain.unknown() {
		d.SE = math.Inf(1)
	}
}

// countable reports whether the pairs pass or fail and are independent of each other: one pair a cluster, or clusters within which nothing
// differs. Each such cluster is counted as one pair.
func (p *Pairs) countable() bool {
	return p.n > 0 && !p.notPassFail && (p.n == len(p.of) || p.changed == 0)
}

// exact sets what follows from countable pairs.
func (p *Pairs) exact(d *Difference, sign, margin float64) {
	lost, won := p.onlyBaseline, p.onlyCandidate
	if sign < 0 {
		lost, won = won, lost
	}
	d.Method, d.onlyBaseline, d.onlyCandidate = MethodMcNemar, p.onlyBaseline, p.onlyCandidate
	n := float64(d.Clusters)
	d.gain = float64(won-lost) / n
	d.SE = math.Sqrt(float64(won+lost)-float64(won-lost)*d.gain) / n
	d.P = McNemar(lost, won)
	d.PInferior = tangoTail(-margin, lost, won, d.Clusters)
	if margin < 1e-12 { // without a margin, this is McNemar's own test
		d.PInferior = binomialTail(won, won+lost, 0.5)
	}
	d.Interval = pairedRateInterval(lost, won, d.Clusters)
}
