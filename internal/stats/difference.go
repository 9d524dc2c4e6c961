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
	MethodNone      = "none"      // nothing varies: the rule of three
)

// Difference compares a candidate with a baseline in one metric. A difference is candidate minus baseline, whichever direction is better.
type Difference struct {
	// N counts the pairs, Clusters their clusters, Changed the pairs that differ, and Dropped the pairs without two finite scores, which count
	// nowhere else.
	N, Clusters, Changed, Dropped int
	// Varies is whether any pair differs.
	Varies bool
	// Baseline and Candidate are the mean scores over all pairs.
	Baseline, Candidate float64
	// Mean is the mean difference, SE its standard error and Interval its 95 % interval, by Method. SE and Interval are infinite with fewer than
	// two clusters, and with fewer than six of several pairs each. Where nothing varies, SE is infinite and the interval is ± RuleOfThree(Clusters) of the range:
	// so many pairs may still differ. Without a range it is infinite.
	Mean, SE float64
	Interval [2]float64
	Method   string
	// ICC is the intraclass correlation of the differences, 0 when its estimate is below; nil where no cluster has two pairs. DesignEffect is
	// the variance of Mean over that of as many independent pairs; 1 when every cluster has one.
	ICC          *float64
	DesignEffect float64
	// P is the two-sided p-value of "no difference". AdjustedP is P until Decide corrects it.
	P, AdjustedP float64
	Verdict      Verdict
	// Detectable is the smallest true loss that would be found Worse with the probability Criterion.Power, given the variation of the
	// differences here; infinite when none would. Where nothing varies it is the end of Interval.
	Detectable float64

	gain, df                    float64 // gain is Mean when higher is better, else −Mean
	power                       float64
	onlyBaseline, onlyCandidate int
}

// Compare compares the candidate with the baseline in this metric alone. For several metrics, pass their differences to Decide.
func (p *Pairs) Compare(c Criterion) Difference {
	c.Margin = Margin{max(c.Margin.Absolute, 0), max(c.Margin.Relative, 0)}
	clusters := p.clusters()
	d := Difference{N: p.n, Clusters: len(clusters), Changed: p.changed, Dropped: p.dropped, Varies: p.changed > 0, power: cmp.Or(c.Power, Power)}
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
	switch {
	case !d.Varies:
		d.still(&c)
	case c.PassFail && p.countable() && c.Margin.Relative == 0:
		p.exact(&d, sign)
		d.Verdict = c.verdictOf(d.Interval, d.Interval[0])
	default:
		resamples := max(cmp.Or(c.Resamples, Resamples), minResamples)
		gain := d.differenceOf(gains, resamples, c.Seed)
		tolerated := gain
		if c.Margin.Relative != 0 {
			tolerated = d.differenceOf(kept, resamples, c.Seed)
		}
		d.sampled(gain)
		d.Verdict = c.verdictOf(d.Interval, tolerated.interval()[0])
	}
	d.AdjustedP = d.P
	if d.Varies {
		d.Detectable = d.detectable()
	}
	d.Mean = d.gain
	if sign < 0 { // 0 − x, so that 0 does not become −0
		d.Mean, d.Interval = 0-d.gain, [2]float64{0 - d.Interval[1], 0 - d.Interval[0]}
	}
	d.Candidate = d.Baseline + d.Mean
	d.DesignEffect = 1
	if d.N > d.Clusters {
		d.ICC, d.DesignEffect = new(max(icc(spreads), 0)), designEffect(spreads, d.SE)
	}
	return d
}

// differenceOf is the sampling distribution of a mean difference. Fewer than six clusters of several pairs say nothing.
func (d *Difference) differenceOf(sums []clusterSum, resamples int, seed uint64) estimate {
	if d.N > d.Clusters && d.Clusters < minAlike {
		e := clusteredMean(sums)
		e.se = math.Inf(1)
		return e
	}
	return estimateOf(sums, resamples, seed)
}

// still sets what follows where no pair differs: at most RuleOfThree of the pairs would (95 %).
func (d *Difference) still(c *Criterion) {
	d.Method, d.P, d.SE, d.df = MethodNone, 1, math.Inf(1), 0
	d.Detectable = math.Inf(1)
	if c.Range > 0 {
		d.Detectable = RuleOfThree(d.Clusters) * c.Range
	}
	d.Interval = [2]float64{-d.Detectable, d.Detectable}
	switch {
	case d.N == 0:
		d.Verdict = Inconclusive
	case c.Range > 0:
		d.Verdict = c.verdictOf(d.Interval, d.Interval[0]+c.Margin.Relative*d.Baseline)
	case d.Clusters >= minAlike:
		d.Verdict = NonInferior
	default:
		d.Verdict = Inconclusive
	}
}

// sampled sets what follows from the sampling distribution of the gain.
func (d *Difference) sampled(gain estimate) {
	d.Method = MethodT
	if gain.resampled != nil {
		d.Method = MethodBootstrap
	}
	d.gain, d.SE, d.df, d.Interval = gain.mean, gain.se, gain.df, gain.interval()
	d.P = min(1, 2*min(gain.pAtMost(0), gain.pAtLeast(0)))
	if gain.unknown() {
		d.SE = math.Inf(1)
	}
}

// countable reports whether the pairs pass or fail and are independent of each other: one pair a cluster.
func (p *Pairs) countable() bool { return !p.notPassFail && p.n == len(p.of) }

// exact sets what follows from countable pairs.
func (p *Pairs) exact(d *Difference, sign float64) {
	lost, won := p.onlyBaseline, p.onlyCandidate
	if sign < 0 {
		lost, won = won, lost
	}
	d.Method, d.onlyBaseline, d.onlyCandidate = MethodMcNemar, p.onlyBaseline, p.onlyCandidate
	n := float64(d.Clusters)
	d.gain = float64(won-lost) / n
	d.SE = math.Sqrt(float64(won+lost)-float64(won-lost)*d.gain) / n
	d.P = McNemar(lost, won)
	d.Interval = pairedRateInterval(lost, won, d.Clusters)
}
