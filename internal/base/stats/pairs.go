package stats

import "math"

// Pairs collects the scores of a baseline and a candidate on the same units: the same test, session or turn. A unit is
// equally hard for both, so their difference varies much less than either score. The zero value is empty and ready; it
// is not safe for concurrent use.
type Pairs struct {
	of map[string]*pairCluster
	// numbered are the clusters that have a number in place of a name, by their numbers; those without pairs are none.
	numbered []pairCluster
	// known is how many clusters have pairs.
	known, n int
	// changed counts the pairs whose scores differ, dropped those with a score that is not a finite number.
	changed, dropped int
	// onlyBaseline and onlyCandidate count the pairs in which only that one scored 1, as long as all scores are 1 or 0.
	onlyBaseline, onlyCandidate int
	notPassFail                 bool
}

// NewPairs returns empty pairs with room for so many numbered clusters.
func NewPairs(clusters int) *Pairs { return &Pairs{numbered: make([]pairCluster, 0, clusters)} }

// pairCluster summarises a cluster: its differences, candidate minus baseline, and the sum of the baseline's scores.
type pairCluster struct {
	difference spread
	baseline   float64
}

// Add adds a pair to its cluster. Clusters are what was drawn independently: the session, its user, or the test of
// several trials. A pair with a score that is not a finite number is dropped and counted as dropped.
func (p *Pairs) Add(cluster string, baseline, candidate float64) {
	if !p.fits(baseline, candidate) {
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
	p.add(c, baseline, candidate)
}

// AddNumbered is Add for clusters that are numbered from 0, which takes a fraction of the time and memory where there
// are many.
func (p *Pairs) AddNumbered(cluster int, baseline, candidate float64) {
	if !p.fits(baseline, candidate) {
		return
	}
	for cluster >= len(p.numbered) {
		p.numbered = append(p.numbered, pairCluster{})
	}
	p.add(&p.numbered[cluster], baseline, candidate)
}

// fits reports whether a pair counts. One that does not is dropped.
func (p *Pairs) fits(baseline, candidate float64) bool {
	if finite(baseline) && finite(candidate) {
		return true
	}
	p.dropped++
	return false
}

func (p *Pairs) add(c *pairCluster, baseline, candidate float64) {
	d := candidate - baseline
	if math.Abs(d) <= 1e-12*max(math.Abs(baseline), math.Abs(candidate)) { // rounding is no difference
		d = 0
	}
	p.n++
	if c.difference.n == 0 {
		p.known++
	}
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
