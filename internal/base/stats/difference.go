package stats

import "math"

// The methods that Difference.Method names.
const (
	MethodT         = "t"         // Student's t with the clustered standard error
	MethodBootstrap = "bootstrap" // wild cluster bootstrap: random halves of the clusters
	MethodMcNemar   = "mcnemar"   // McNemar's exact test and Tango's interval
	MethodNone      = "none"      // nothing varies: the rule of three
)

// Difference compares a candidate with a baseline in one metric. A difference is candidate minus baseline, whichever
// direction is better.
type Difference struct {
	// N counts the pairs, Clusters their clusters, Changed the pairs that differ, and Dropped the pairs without two
	// finite scores, which count nowhere else.
	N, Clusters, Changed, Dropped int
	// Varies is whether any pair differs.
	Varies bool
	// Baseline and Candidate are the mean scores over all pairs.
	Baseline, Candidate float64
	// Mean is the mean difference, SE its standard error and Interval its 95 % interval, by Method. SE and Interval are
	// infinite with fewer than two clusters, and with fewer than six of several pairs each. Where nothing varies, SE is
	// infinite and the interval is ± RuleOfThree(Clusters) of the range: so many pairs may still differ. Without a
	// range it is infinite.
	Mean, SE float64
	Interval [2]float64
	Method   string
	// ICC is the intraclass correlation of the differences, 0 when its estimate is below; nil where no cluster has two
	// pairs. DesignEffect is the variance of Mean over that of as many independent pairs; 1 when every cluster has one.
	ICC          *float64
	DesignEffect float64
	// P is the two-sided p-value of "no difference". AdjustedP is P until Decide corrects it.
	P, AdjustedP float64
	Verdict      Verdict
	// Detectable is the smallest true loss that would be found Worse with the probability Criterion.Power, given the
	// variation of the differences here, and no smaller than Criterion.Harmless; infinite when none would. Where
	// nothing varies it is the end of Interval.
	Detectable float64

	gain, df                    float64 // gain is Mean when higher is better, else −Mean
	power                       float64
	still                       float64 // the range, where too few clusters differ to say more than that none does
	onlyBaseline, onlyCandidate int
}

// unchanged sets what follows where no pair differs: at most RuleOfThree of the pairs would (95 %).
func (d *Difference) unchanged(c *Criterion) {
	d.Method, d.P, d.SE, d.df = MethodNone, 1, math.Inf(1), 0
	d.Detectable = math.Inf(1)
	if c.Range > 0 {
		d.still, d.Detectable = c.Range, RuleOfThree(d.Clusters)*c.Range
	}
	d.Interval = [2]float64{-d.Detectable, d.Detectable}
	switch {
	case d.N == 0:
		d.Verdict = Inconclusive
	case c.Range > 0:
		d.Verdict = c.verdictOf(d.Interval, 0, d.Interval[0]+c.Margin.Relative*d.Baseline)
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
	d.gain, d.SE, d.df, d.Interval, d.P = gain.mean, gain.se, gain.df, gain.interval(), gain.p()
	if gain.unknown() {
		d.SE = math.Inf(1)
	}
}

// countable reports whether the pairs pass or fail and are independent of each other: one pair a cluster.
func (p *Pairs) countable() bool { return !p.notPassFail && p.n == p.known }

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
