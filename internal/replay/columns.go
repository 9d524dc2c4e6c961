package replay

import (
	"math"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/base/stats"
)

// Clustering says what is drawn independently: sessions of one user are alike.
type Clustering string

// The clusterings.
const (
	ByAuto    Clustering = "auto"    // the user where a session has one, else the session
	BySession Clustering = "session" // every session by itself
	ByUnit    Clustering = "unit"    // the user; a log without users cannot be clustered so
)

// Clusterings lists them.
var Clusterings = []Clustering{ByAuto, BySession, ByUnit}

// Clusters says how the sessions that were compared belong to users.
type Clusters struct {
	// By is unit or session. Units counts the clusters, Largest the sessions of the largest one.
	By       Clustering `json:"by"`
	Units    int        `json:"units"`
	Sessions int        `json:"sessions"`
	Largest  int        `json:"largest"`
}

// clusterOf returns the cluster of a session. Users and sessions of the same name are no cluster; sessions of the same
// id in the log are of one user.
func (c Clustering) clusterOf(s *played) string {
	switch {
	case c == BySession:
		return "session/" + s.id
	case s.unit == "":
		return "session/" + LoggedID(s.id)
	}
	return "unit/" + s.unit
}

// clusters counts the clusters. Its error is of a log that cannot be clustered by users.
func (t *Tally) clusters(by Clustering) (Clusters, error) {
	sizes := map[string]int{}
	units := false
	for i := range t.sessions {
		s := &t.sessions[i]
		sizes[by.clusterOf(s)]++
		units = units || s.unit != ""
	}
	c := Clusters{By: BySession, Units: len(sizes), Sessions: len(t.sessions)}
	for _, n := range sizes {
		c.Largest = max(c.Largest, n)
	}
	switch {
	case units && by != BySession:
		c.By = ByUnit
	case by == ByUnit && len(t.sessions) > 0:
		return c, source.Invalid("--cluster unit: no session names its user (unit_id); use --cluster session")
	}
	return c, nil
}

// part is some of the sessions, by their places.
type part struct {
	sessions, lost []int
	// rescued are those of rescued. Metrics of the path leave them out, and those that are censored, whose path has not
	// come to its end.
	rescued map[int]bool
	// entire is true of a part in which metrics of the path leave out nothing.
	entire bool
}

// partOf returns the sessions of which a function is true.
func (t *Tally) partOf(chosen func(*played) bool) part {
	var p part
	for i := range t.sessions {
		if chosen(&t.sessions[i]) {
			p.sessions = append(p.sessions, i)
		}
	}
	for i := range t.lost {
		if chosen(&t.lost[i]) {
			p.lost = append(p.lost, i)
		}
	}
	return p
}

// all returns every session.
func (t *Tally) all() part { return t.partOf(func(*played) bool { return true }) }

// pairs returns a metric's columns of both lanes as pairs in their clusters.
func (t *Tally) pairs(m *metric, by Clustering, baseline, candidate []float64, in part) *stats.Pairs {
	p := &stats.Pairs{}
	for _, i := range in.sessions {
		if !m.path || in.entire || !in.rescued[i] && !t.isCensored(i) {
			m.add(p, by.clusterOf(&t.sessions[i]), baseline[i], candidate[i])
		}
	}
	if m.everyPair {
		for _, i := range in.lost {
			m.add(p, by.clusterOf(&t.lost[i]), t.lanes[Baseline].answered[i], t.lanes[Candidate].answered[i])
		}
	}
	return p
}

// add adds a pair to which the metric applies.
func (m *metric) add(p *stats.Pairs, cluster string, was, is float64) {
	switch {
	case math.IsNaN(was) || math.IsNaN(is):
	case math.Abs(is-was) < m.unnoticed:
		p.Add(cluster, was, was)
	default:
		p.Add(cluster, was, is)
	}
}

// column returns a metric's figures of a lane: those of the lost pairs, too, where they count.
func (l *variantTally) column(i int) []float64 {
	if table[i].everyPair {
		return slices.Concat(l.whole[i], l.answered)
	}
	return l.whole[i]
}

// estimate returns the mean of a column with its interval, nil where nothing applies. Figures of a range that are all
// the same leave open what is the most that so many clusters may have missed, as differences do.
func (t *Tally) estimate(m *metric, by Clustering, column []float64) *Estimate {
	sessions := t.sessions
	if len(column) > len(sessions) {
		sessions = slices.Concat(sessions, t.lost)
	}
	kept := stats.Clusters{}
	n, passed, counted := 0, 0.0, m.passFail // whether the figures can be counted: each 1 or 0, and one a cluster
	seen := map[string]bool{}
	least, most := math.Inf(1), math.Inf(-1)
	for i, x := range column {
		if math.IsNaN(x) {
			continue
		}
		cluster := by.clusterOf(&sessions[i])
		counted = counted && !seen[cluster] && (x == 0 || x == 1)
		seen[cluster] = true
		kept.Add(cluster, x)
		n++
		passed += x
		least, most = min(least, x), max(most, x)
	}
	if n == 0 {
		return nil
	}
	mean := kept.Mean()
	e := &Estimate{Value: passed / float64(n), N: n}
	interval := mean.Interval
	switch open := m.span() * stats.RuleOfThree(mean.Clusters); {
	case counted:
		interval = stats.Wilson(int(math.Round(passed)), n)
	case least == most && open > 0:
		interval = [2]float64{max(least-open, 0), least + open}
	}
	if m.unit == Share { // no share lies beyond
		interval = [2]float64{max(interval[0], 0), min(interval[1], 1)}
	}
	e.Low, e.High = finite(interval[0]), finite(interval[1])
	if n < 2 {
		e.Low, e.High = nil, nil
	}
	return e
}

// finite is nil for a number that says nothing: infinite, or none.
func finite(x float64) *float64 {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return nil
	}
	return &x
}

// meanOf is the mean of the figures that apply, nil without any.
func meanOf(column []float64) *float64 {
	var mean Mean
	for _, x := range column {
		mean.add(finite(x))
	}
	return mean.Value
}
