package replay

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Tally gathers pairs as they are replayed. It keeps a few numbers of each session, and some sessions to look at. The zero value is ready; it
// must not be used from several goroutines at once.
type Tally struct {
	// sessions are those that were compared, lost those of which a lane failed.
	sessions []played
	lost     []played
	lanes    map[string]*laneTally
	// losses counts the lost pairs by the lane that failed, and firsts the lanes that went first.
	losses Lost
	firsts map[string]int
	// drops are some of the reasons why pairs were lost.
	drops       []string
	ends        map[string]int
	divergences map[int]int
	// thinking is how long users took, a number for each session.
	thinking []float64
	shown    []seen
	// shownText is how many bytes the texts of those shown have.
	shownText int
}

// played is what is kept of a session beside its figures.
type played struct {
	id, unit, flow, outcome string
	day                     string
	turns                   int // of the user's, in the log
}

// laneTally has a column for each metric, with NaN where it does not apply.
type laneTally struct {
	means     Means
	whole     [][]float64
	onSupport [][]float64
	// answered is of the lost pairs.
	answered   []float64
	latencySum float64
	latencyN   int
	// turns counts the lane's turns, misses those that it could not take in forced mode, invented those of a simulated user.
	turns, misses, invented int
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
		t.lanes, t.ends, t.divergences, t.firsts = map[string]*laneTally{}, map[string]int{}, map[int]int{}, map[string]int{}
	}
	t.show(pair)
	of := playedOf(pair)
	if pair.FirstLane != "" {
		t.firsts[pair.FirstLane]++
	}
	if pair.Dropped != "" {
		t.lose(of, pair)
		return
	}
	t.sessions = append(t.sessions, of)
	t.ends[pair.Outcome]++
	for i := range pair.Lanes {
		if lane := &pair.Lanes[i]; lane.Metrics != nil {
			t.lane(lane.Name).add(lane, pair.Mode)
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

func playedOf(pair *Pair) played {
	of := played{id: pair.SessionID, unit: pair.UnitID, flow: pair.FlowID, outcome: pair.Outcome, day: pair.Started.UTC().Format(time.DateOnly)}
	if observed := pair.Lane(Observed); observed != nil {
		of.turns = len(observed.Turns)
	}
	return of
}

func (t *Tally) lane(name string) *laneTally {
	if t.lanes[name] == nil {
		t.lanes[name] = &laneTally{means: Means{}, whole: make([][]float64, len(table)), onSupport: make([][]float64, len(table))}
	}
	return t.lanes[name]
}

// lose counts a pair that is lost. Its figures are left out, but not that a lane gave no answer.
func (t *Tally) lose(of played, pair *Pair) {
	t.lost = append(t.lost, of)
	if len(t.drops) < maxExamples {
		t.drops = append(t.drops, pair.SessionID+": "+pair.Dropped)
	}
	failed := map[string]bool{}
	for _, name := range []string{Baseline, Candidate} {
		if lane := pair.Lane(name); lane != nil {
			failed[name] = lane.Error != ""
			l := t.lane(name)
			l.answered = append(l.answered, orNaN(lane.answered(of.turns)))
		}
	}
	switch {
	case failed[Baseline] && !failed[Candidate]:
		t.losses.Baseline++
	case failed[Candidate] && !failed[Baseline]:
		t.losses.Candidate++
	default:
		t.losses.Both++
	}
}

func (l *laneTally) add(lane *Lane, mode Mode) {
	m := lane.Metrics
	l.means.Add(m)
	l.turns += len(lane.Turns)
	for i := range lane.Turns {
		turn := &lane.Turns[i]
		if turn.LatencyMS != nil {
			l.latencySum += *turn.LatencyMS
			l.latencyN++
		}
		if turn.Invented {
			l.invented++
		}
		if mode == Forced && !turn.Supported {
			l.misses++
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
