package stats

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// Metric is pairs with the criterion by which they are compared.
type Metric struct {
	Pairs     *Pairs
	Criterion Criterion
}

// Compare compares the candidate with the baseline in this metric alone. For several metrics, pass their differences to
// Decide.
func (p *Pairs) Compare(c Criterion) Difference { return CompareAll([]Metric{{p, c}})[0] }

// CompareAll compares the candidate with the baseline in several metrics of the same clusters, each by itself. One draw
// of clusters serves all metrics that are resampled equally often from the same seed, which takes a fraction of the
// time.
func CompareAll(metrics []Metric) []Difference {
	names := map[string]bool{}
	for _, m := range metrics {
		for name := range m.Pairs.of {
			names[name] = true
		}
	}
	// in an order that does not depend on the order of Add; neither do sums and resamples
	sorted := slices.Sorted(maps.Keys(names))
	places, numbered := positionsOf(metrics)
	comparisons, differences := make([]*comparison, len(metrics)), make([]Difference, len(metrics))
	for i, m := range metrics {
		comparisons[i] = newComparison(m, places, numbered, sorted)
	}
	resample(comparisons)
	for i, c := range comparisons {
		differences[i] = c.difference()
	}
	return differences
}

// positionsOf returns the places, from 0, of the numbered clusters that have pairs in some metric, by their numbers,
// and how many these are.
func positionsOf(metrics []Metric) (places []int, numbered int) {
	for _, m := range metrics {
		places = append(places, make([]int, max(0, len(m.Pairs.numbered)-len(places)))...)
		for number := range m.Pairs.numbered {
			if m.Pairs.numbered[number].difference.n > 0 {
				places[number] = 1
			}
		}
	}
	for number, known := range places {
		places[number] = numbered
		numbered += known
	}
	return places, numbered
}

// comparison is the work on one metric.
type comparison struct {
	Criterion
	pairs *Pairs
	sign  float64 // of a gain
	// spreads are the clusters that have pairs, where one has several. gains has what each cluster of all metrics
	// contributes, kept the same plus the relative margin.
	spreads     []spread
	gains, kept []clusterSum
	// gain and tolerated are the sampling distributions of their means.
	gain, tolerated estimate
	baseline        float64
}

// newComparison begins the work on a metric. Numbered clusters come by their places, then those with names.
func newComparison(m Metric, places []int, numbered int, names []string) *comparison {
	c := &comparison{Criterion: m.Criterion, pairs: m.Pairs, sign: 1}
	c.Margin = Margin{max(c.Margin.Absolute, 0), max(c.Margin.Relative, 0)}
	c.Resamples = max(cmp.Or(c.Resamples, Resamples), minResamples)
	if c.LowerIsBetter {
		c.sign = -1
	}
	c.gains = make([]clusterSum, numbered+len(names))
	if c.kept = c.gains; c.Margin.Relative != 0 {
		c.kept = make([]clusterSum, len(c.gains))
	}
	for number := range m.Pairs.numbered {
		c.take(places[number], &m.Pairs.numbered[number])
	}
	for i, name := range names {
		if of := m.Pairs.of[name]; of != nil {
			c.take(numbered+i, of)
		}
	}
	c.gain = c.estimate(c.gains)
	if c.tolerated = c.gain; c.Margin.Relative != 0 {
		c.tolerated = c.estimate(c.kept)
	}
	return c
}

// take adds what a cluster contributes.
func (c *comparison) take(i int, of *pairCluster) {
	if of.difference.n == 0 {
		return
	}
	if c.pairs.n > c.pairs.known {
		c.spreads = append(c.spreads, of.difference)
	}
	sum := of.difference.sum()
	c.gains[i] = clusterSum{sum.n, c.sign * sum.sum}
	if c.Margin.Relative != 0 {
		c.kept[i] = clusterSum{sum.n, c.sign*sum.sum + c.Margin.Relative*of.baseline}
	}
	c.baseline += of.baseline / float64(c.pairs.n)
}

// estimate is the sampling distribution of a mean by Student's t. Fewer than six clusters of several pairs say nothing.
func (c *comparison) estimate(sums []clusterSum) estimate {
	if c.pairs.known < len(sums) {
		sums = slices.DeleteFunc(slices.Clone(sums), func(s clusterSum) bool { return s.n == 0 })
	}
	e := clusteredMean(sums)
	if c.pairs.n > c.pairs.known && c.pairs.known < minAlike {
		e.se = math.Inf(1)
	}
	return e
}

// byCounting reports whether McNemar's test decides, and not the distribution of a mean.
func (c *comparison) byCounting() bool {
	return c.PassFail && c.pairs.countable() && c.Margin.Relative == 0
}

// resample resamples the means that are to be, all of one seed and number together.
func resample(comparisons []*comparison) {
	type draw struct {
		seed      uint64
		resamples int
	}
	columns, estimates := map[draw][][]clusterSum{}, map[draw][]*estimate{}
	for _, c := range comparisons {
		if c.pairs.changed == 0 || c.byCounting() {
			continue
		}
		how := draw{c.Seed, c.Resamples}
		if c.gain.wantsResampling() {
			columns[how], estimates[how] = append(columns[how], c.gains), append(estimates[how], &c.gain)
		}
		if c.Margin.Relative != 0 && c.tolerated.wantsResampling() {
			columns[how], estimates[how] = append(columns[how], c.kept), append(estimates[how], &c.tolerated)
		}
	}
	for how := range columns {
		for i, means := range halfMeans(columns[how], how.resamples, how.seed) {
			estimates[how][i].resampled = means
		}
	}
}

// difference returns what follows.
func (c *comparison) difference() Difference {
	p := c.pairs
	d := Difference{
		N: p.n, Clusters: p.known, Changed: p.changed, Dropped: p.dropped, Varies: p.changed > 0,
		Baseline: c.baseline, DesignEffect: 1, power: cmp.Or(c.Power, Power),
	}
	switch {
	case !d.Varies:
		d.unchanged(&c.Criterion)
	case c.byCounting():
		p.exact(&d, c.sign)
		d.Detectable = d.detectable()
		d.Verdict = c.verdictOf(d.Interval, d.gain, d.Interval[0])
	default:
		c.sampled(&d)
	}
	d.AdjustedP, d.Mean = d.P, d.gain
	if c.sign < 0 { // 0 − x, so that 0 does not become −0
		d.Mean, d.Interval = 0-d.gain, [2]float64{0 - d.Interval[1], 0 - d.Interval[0]}
	}
	d.Candidate = d.Baseline + d.Mean
	if d.N > d.Clusters {
		d.ICC, d.DesignEffect = new(max(icc(c.spreads), 0)), designEffect(c.spreads, d.SE)
	}
	return d
}

// minChanged is the least number of clusters that, where they differ in the same direction and no other cluster
// differs, show that direction: by the sign test with the tie of the others counted half, five have a p-value of 3 %,
// four of 6 %.
const minChanged = 5

// sampled sets what follows from the sampling distributions. Where some clusters have a pair that differs, but fewer
// than minChanged, they say no more than clusters in which nothing does: the interval is at least as wide as then, and
// nothing is better or worse. Student's t of single pairs needs no such bound: after one gain its lower end is below 0.
func (c *comparison) sampled(d *Difference) {
	d.sampled(c.gain)
	d.Detectable = d.detectable()
	narrow := d.Interval[0]
	c.widenPassFail(d)
	low := d.Interval[0]
	if c.Margin.Relative != 0 {
		low = c.tolerated.interval()[0] - (narrow - d.Interval[0])
	}
	single := d.Method == MethodT && d.N == d.Clusters
	if c.Range > 0 && !single && c.changedClusters() < min(minChanged, d.Clusters) {
		d.still = c.Range
		still := RuleOfThree(d.Clusters) * c.Range
		d.Interval = [2]float64{min(d.Interval[0], -still), max(d.Interval[1], still)}
		d.P, d.Detectable = max(d.P, math.Exp2(1-minChanged)), max(d.Detectable, still)
		low = min(low, c.Margin.Relative*d.Baseline-still)
	}
	d.Detectable = max(d.Detectable, c.Harmless)
	d.Verdict = c.verdictOf(d.Interval, d.gain, low)
}

// changedClusters counts the clusters with a pair that differs.
func (c *comparison) changedClusters() int {
	if c.pairs.n == c.pairs.known {
		return c.pairs.changed
	}
	n := 0
	for _, s := range c.spreads {
		if s.mean != 0 || s.squares > 0 {
			n++
		}
	}
	return n
}
