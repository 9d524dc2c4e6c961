package replay

import (
	"cmp"
	"math"
	"slices"

	"rehearse/internal/stats"
)

// Tally gathers pairs as they are replayed. It keeps a few numbers of each session, and some sessions to look at. The zero value is ready; it
// must not be used from several goroutines at once.
type Tally struct {
	sessions []string
	lanes    map[string]*laneTally
	// dropped counts the pairs that were dropped; drops are some of the reasons.
	dropped     int
	drops       []string
	ends        map[string]int
	divergences map[int]int
	// thinking is how long users took, a number for each session.
	thinking []float64
	shown    []seen
	// shownText is how many bytes the texts of those shown have.
	shownText int
}

// laneTally has a column for each metric, with NaN where it does not apply.
type laneTally struct {
	means      Means
	whole      [][]float64
	onSupport  [][]float64
	latencySum float64
	latencyN   int
}

// seen is a pair that may be shown, with how much there is to see in it.
type seen struct {
	interest float64
	pair     *Pair
	size     int
}

// maxShown is how many sessions a report shows and maxShownText how many bytes of text in them, maxDivergence the last turn at which
// divergences are counted apart.
const (
	maxShown      = 500
	maxShownText  = 32 << 20
	maxDivergence = 20
)

// Add takes a pair. It may be kept: do not change it any more.
func (t *Tally) Add(pair *Pair) {
	if t.lanes == nil {
		t.lanes, t.ends, t.divergences = map[string]*laneTally{}, map[string]int{}, map[int]int{}
	}
	t.show(pair)
	if pair.Dropped != "" {
		if t.dropped++; len(t.drops) < maxExamples {
			t.drops = append(t.drops, pair.SessionID+": "+pair.Dropped)
		}
		return
	}
	t.sessions = append(t.sessions, pair.SessionID)
	t.ends[pair.Outcome]++
	for i := range pair.Lanes {
		if lane := &pair.Lanes[i]; lane.Metrics != nil {
			if t.lanes[lane.Name] == nil {
				t.lanes[lane.Name] = &laneTally{means: Means{}, whole: make([][]float64, len(table)), onSupport: make([][]float64, len(table))}
			}
			t.lanes[lane.Name].add(lane)
		}
	}
	if candidate := pair.Lane(Candidate); candidate != nil && candidate.Metrics != nil {
		turn := 0
		if first := candidate.Metrics.FirstDivergence; first != nil {
			turn = min(*first, maxDivergence)
		}
		t.divergences[turn]++
		t.thinking = append(t.thinking, orNaN(candidate.Metrics.UserSeconds))
	}
}

func (l *laneTally) add(lane *Lane) {
	m := lane.Metrics
	l.means.Add(m)
	for i := range lane.Turns {
		if ms := lane.Turns[i].LatencyMS; ms != nil {
			l.latencySum += *ms
			l.latencyN++
		}
	}
	for i := range table {
		l.whole[i] = append(l.whole[i], orNaN(table[i].of(m)))
		on := math.NaN()
		if table[i].onSupport != nil && m.OnSupport != nil {
			on = orNaN(table[i].onSupport(m.OnSupport))
		}
		l.onSupport[i] = append(l.onSupport[i], on)
	}
}

func orNaN(x *float64) float64 {
	if x == nil {
		return math.NaN()
	}
	return *x
}

// show keeps the pair if there is more to see in it than in others: dropped ones first, then those whose lanes differ most.
func (t *Tally) show(pair *Pair) {
	size := pair.size()
	t.shownText += size
	t.shown = append(t.shown, seen{interest(pair), pair, size})
	if len(t.shown) >= 2*maxShown || t.shownText >= 2*maxShownText {
		t.cut()
	}
}

func (t *Tally) cut() {
	slices.SortStableFunc(t.shown, func(a, b seen) int {
		return cmp.Or(cmp.Compare(b.interest, a.interest), cmp.Compare(a.pair.SessionID, b.pair.SessionID))
	})
	n := 0
	for t.shownText = 0; n < min(len(t.shown), maxShown) && t.shownText+t.shown[n].size <= maxShownText; n++ {
		t.shownText += t.shown[n].size
	}
	clear(t.shown[n:])
	t.shown = t.shown[:n]
}

// interest is how much there is to see in a pair.
func interest(pair *Pair) float64 {
	if pair.Dropped != "" {
		return 10
	}
	candidate, other := pair.Lane(Candidate).Metrics, (*Metrics)(nil)
	if baseline := pair.Lane(Baseline); baseline != nil {
		other = baseline.Metrics
	}
	sum := 0.0
	for _, of := range []func(*Metrics) *float64{table[0].of, table[2].of} { // completion and states
		is, was := of(candidate), new(1.0) // beside the log, which matches itself
		if other != nil {
			was = of(other)
		}
		if is != nil && was != nil {
			sum += math.Abs(*is - *was)
		}
	}
	return sum
}

// pairs returns a metric's columns of both lanes as pairs, one session a cluster.
func (t *Tally) pairs(m *metric, baseline, candidate []float64) *stats.Pairs {
	p := &stats.Pairs{}
	for i, id := range t.sessions {
		was, is := baseline[i], candidate[i]
		switch {
		case math.IsNaN(was) || math.IsNaN(is):
		case math.Abs(is-was) < m.unnoticed:
			p.Add(id, was, was)
		default:
			p.Add(id, was, is)
		}
	}
	return p
}

// estimate returns the mean of a column with its interval, nil where nothing applies.
func estimate(m *metric, column []float64) *Estimate {
	kept := make([]float64, 0, len(column))
	sum := 0.0
	for _, x := range column {
		if !math.IsNaN(x) {
			kept = append(kept, x)
			sum += x
		}
	}
	n := len(kept)
	if n == 0 {
		return nil
	}
	e := &Estimate{Value: sum / float64(n), N: n}
	interval := stats.TInterval(kept)
	if m.passFail {
		interval = stats.Wilson(int(math.Round(sum)), n)
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
