package stats

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// Watch compares a candidate with a baseline in one metric again and again, while pairs keep coming. Its intervals are
// always-valid: over any number of looks, the chance that one of them leaves out the true difference is at most Alpha.
// Its exported fields are all its state; it can be kept as JSON between looks. It is not safe for concurrent use.
type Watch struct {
	// Alpha is the chance of an error over the whole watch, LowerIsBetter, PassFail and Range are as in Criterion. They
	// must not change between looks.
	Alpha         float64 `json:"alpha"`
	LowerIsBetter bool    `json:"lower_is_better,omitempty"`
	PassFail      bool    `json:"pass_fail,omitempty"`
	Range         float64 `json:"range,omitempty"`
	// Margin and Harmless are as in Criterion: a loss within them is not Worse. The zero values let any loss be.
	Margin   Margin  `json:"margin,omitzero"`
	Harmless float64 `json:"harmless,omitempty"`
	// Pairs counts the pairs so far, Dropped those without two finite scores, which count nowhere else. Baseline is the
	// sum of the baseline's scores.
	Pairs    int     `json:"pairs"`
	Dropped  int     `json:"dropped,omitempty"`
	Baseline float64 `json:"baseline,omitempty"`
	// OnlyCandidate and OnlyBaseline count the pairs that one alone passed. They decide until Clustered is set: a
	// cluster had two pairs, or a score was neither 1 nor 0.
	OnlyCandidate int  `json:"only_candidate,omitempty"`
	OnlyBaseline  int  `json:"only_baseline,omitempty"`
	Clustered     bool `json:"clustered,omitempty"`
	// Entries are the mean differences of each cluster in each look, Alone those of clusters that cannot come back.
	Entries Moments `json:"entries"`
	Alone   Moments `json:"alone"`
	// Known has the entries of each cluster that can come back.
	Known map[string]Entry `json:"known,omitempty"`
}

// Moments are the number of observations, their mean, and the sum of squared distances from it.
type Moments struct {
	N       float64 `json:"n"`
	Mean    float64 `json:"mean"`
	Squares float64 `json:"squares"`
}

func (m *Moments) add(x float64) {
	s := spread{m.N, m.Mean, m.Squares}
	s.add(x)
	*m = Moments{s.n, s.mean, s.squares}
}

// Entry sums up the entries of a cluster.
type Entry struct {
	N   float64 `json:"n"`
	Sum float64 `json:"sum"`
}

// Interim is what a watch says at a look, over all pairs until then.
type Interim struct {
	// N counts the pairs and Clusters their clusters.
	N, Clusters int
	// Mean is the mean difference, candidate minus baseline. A cluster counts once in each look in which it has pairs,
	// with their mean.
	Mean float64
	// Interval is always-valid. It is infinite as long as too little is known.
	Interval [2]float64
	// DesignEffect is the factor by which clusters that came back raise the variance of Mean; it is at least 1.
	DesignEffect float64
	// Verdict is Better or Worse when Interval leaves out 0, else Inconclusive. A loss that lies within the margin is
	// Inconclusive, too.
	Verdict Verdict
}

// Watches returns a watch for each criterion. Together they err with a chance of at most alpha: it is split evenly.
func Watches(alpha float64, criteria []Criterion) []Watch {
	all := make([]Watch, len(criteria))
	for i, c := range criteria {
		all[i] = Watch{
			Alpha: alpha / float64(len(criteria)), LowerIsBetter: c.LowerIsBetter, PassFail: c.PassFail, Range: c.Range,
			Margin: c.Margin, Harmless: c.Harmless,
		}
	}
	return all
}

// Analyze adds pairs that are new since the last look and judges all until now. comesBack says whether a cluster may
// have pairs in another look: a user may, a session may not; nil means that none may. Only clusters that may are
// remembered by name.
func (w *Watch) Analyze(pairs *Pairs, comesBack func(cluster string) bool) Interim {
	w.add(pairs, comesBack)
	l := Interim{
		N: w.Pairs, Clusters: int(w.Alone.N) + len(w.Known), Mean: w.Entries.Mean, DesignEffect: w.designEffect(),
	}
	l.Interval = w.interval(l)
	gain, mean := l.Interval, l.Mean
	if w.LowerIsBetter {
		gain, mean = [2]float64{-gain[1], -gain[0]}, -mean
	}
	switch {
	case gain[0] > 0:
		l.Verdict = Better
	case gain[1] < 0 && mean <= -w.Harmless && gain[0] < -max(w.tolerated(), w.Harmless):
		l.Verdict = Worse
	default:
		l.Verdict = Inconclusive
	}
	return l
}

// tolerated is the margin in units of the metric. It only takes back what would be Worse, so that the baseline's mean
// needs no interval of its own.
func (w *Watch) tolerated() float64 {
	return w.Margin.Absolute + w.Margin.Relative*w.Baseline/float64(max(w.Pairs, 1))
}

func (w *Watch) add(pairs *Pairs, comesBack func(cluster string) bool) {
	w.Pairs, w.Dropped = w.Pairs+pairs.n, w.Dropped+pairs.dropped
	w.OnlyCandidate, w.OnlyBaseline = w.OnlyCandidate+pairs.onlyCandidate, w.OnlyBaseline+pairs.onlyBaseline
	if pairs.notPassFail || pairs.n > pairs.known {
		w.Clustered = true
	}
	for i := range pairs.numbered { // they have no name to come back by
		w.Baseline += pairs.numbered[i].baseline
		if of := pairs.numbered[i].difference; of.n > 0 {
			w.Entries.add(of.mean)
			w.Alone.add(of.mean)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(pairs.of)) { // in an order that does not depend on the order of Add
		x := pairs.of[name].difference.mean
		w.Baseline += pairs.of[name].baseline
		w.Entries.add(x)
		if comesBack == nil || !comesBack(name) {
			w.Alone.add(x)
			continue
		}
		if w.Known == nil {
			w.Known = map[string]Entry{}
		}
		was := w.Known[name]
		w.Known[name] = Entry{was.N + 1, was.Sum + x}
		if was.N > 0 {
			w.Clustered = true
		}
	}
}

// interval returns the always-valid interval of what has been added.
func (w *Watch) interval(l Interim) [2]float64 {
	nothing := w.Entries.Mean == 0 && w.Entries.Squares == 0
	switch {
	case w.PassFail && !w.Clustered:
		return w.counted().alwaysInterval(w.Alpha)
	case l.Clusters < minAlwaysClusters || nothing && w.Range == 0:
		return [2]float64{math.Inf(-1), math.Inf(1)}
	case nothing: // no pair differs: each cluster counts as one that might have
		bound := trits{tied: float64(l.Clusters)}.alwaysInterval(w.Alpha)
		return [2]float64{bound[0] * w.Range, bound[1] * w.Range}
	}
	sd := math.Sqrt(l.DesignEffect * w.Entries.Squares / (w.Entries.N - 1))
	half := alwaysHalf(sd, w.Entries.N, w.Alpha)
	return [2]float64{l.Mean - half, l.Mean + half}
}

func (w *Watch) counted() trits {
	won, lost := float64(w.OnlyCandidate), float64(w.OnlyBaseline)
	return trits{won, lost, float64(w.Pairs) - won - lost}
}

// designEffect returns the factor by which the variance of the mean of the entries is larger than if each came from a
// cluster of its own; at least 1.
//
// Source: as for clusteredMean, whose correction it shares.
func (w *Watch) designEffect() float64 {
	n, mean := w.Entries.N, w.Entries.Mean
	if !(w.Entries.Squares > 0) || len(w.Known) == 0 {
		return 1
	}
	off := w.Alone.Mean - mean
	corrected := (w.Alone.Squares + w.Alone.N*off*off) / (1 - 1/n)
	known := slices.SortedFunc(maps.Values(w.Known), func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.N, b.N), cmp.Compare(a.Sum, b.Sum))
	})
	for _, e := range known {
		if e.N >= n { // the only cluster
			return 1
		}
		off := e.Sum - e.N*mean
		corrected += off * off / (1 - e.N/n)
	}
	return max(1, corrected*(n-1)/(n*w.Entries.Squares))
}
