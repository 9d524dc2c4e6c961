package stats

import "math"

// Pairs collects the scores of a baseline and a candidate on the same units: the same test, session or turn. A unit is equally hard for
// both, so their difference varies much less than either score. The zero value is empty and ready; it is not safe for concurrent use.
type Pairs struct {
	of map[string]*pairCluster
	n  int
	// changed counts the pairs whose scores differ, dropped those with a score that is not a finite number.
	changed, dropped int
	// onlyBaseline and onlyCandidate count the pairs in which only that one scored 1, as long as all scores are 1 or 0.
	onlyBaseline, onlyCandidate int
	notPassFail                 bool
}

// pairCluster summarises a cluster: its differences, candidate minus baseline, and the sum of the baseline's scores.
type pairCluster struct {
	difference spread
	baseline   float64
}

// Add adds a pair to its cluster. Clusters are what was drawn independently: the session, its user, or the test of several trials.
// A pair with a score that is not a finite number is dropped and counted as dropped.
func (p *Pairs) Add(cluster string, baseline, candidate float64) {
	if !finite(baseline) || !finite(candidate) {
		p.dropped++
		return
	}
	if p.of == nil {
		p.of = map[string]*pairCluster{}
	}
	c := p.of[cluster]
	if c == nil {
		c = &pairCluster{}
		p.of[cluster] = c
	}
	d := candidate - baseline
	if math.Abs(d) <= 1e-12*max(math.Abs(baseline), math.Abs(candidate)) { // rounding is no difference
		d = 0
	}
	p.n++
	c.difference.add(d)
	c.baseline += baseline
	p.count(baseline, candidate, d)
}

func (p *Pairs) count(baseline, candidate, d float64) {
	if d != 0 {
		p.changed++
	}
	switch {
	case baseline != 0 && baseline != 1 || candidate != 0 && candidate != 1:
		p.notPassFail = true
	case d > 0:
		p.onlyCandidate++
	case d < 0:
		p.onlyBaseline++
	}
}
