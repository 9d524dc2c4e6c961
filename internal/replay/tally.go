package replay

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Tally gathers pairs as they are replayed. It keeps a few numbers of each session, and some sessions to look at. The
// zero value is ready; it must not be used from several goroutines at once.
type Tally struct {
	// sessions are those that were compared, lost those of which a lane failed.
	sessions []played
	lost     []played
	lanes    map[string]*variantTally
	// losses counts the lost pairs by the lane that failed, and firsts the lanes that went first.
	losses Lost
	firsts map[string]int
	// drops are some of the reasons why pairs were lost.
	drops       []string
	ends        map[string]int
	divergences map[int]int
	preferences Preferences
	// thinking is how long users took, a number for each session.
	thinking []float64
	shown    []seen
	repeats  *repeatTally
	// assertions is nil of a run without any.
	assertions *AssertionReport
	// shownText is how many bytes the texts of those shown have.
	shownText int
}

// played is what is kept of a session beside its figures.
type played struct {
	id, unit, flow, outcome string
	day                     string
	turns                   int // of the user's, in the log
	// slices are the values of the fields by which sessions are sliced.
	slices map[string]string
}

// variantTally has a column for each metric, with NaN where it does not apply.
type variantTally struct {
	whole     [][]float64
	onSupport [][]float64
	// censored are the sessions in which the lane was censored at any of the times that it was played.
	censored []bool
	// literalMatch is completion match to the letter: what is censored has not completed.
	literalMatch []float64
	// answered is of the lost pairs.
	answered   []float64
	latencySum float64
	latencyN   int
	// turns counts the lane's turns, misses those that it could not take in forced mode.
	turns, misses int
	simulated     SimulatedTurns
	heard         hearing
}

// seen is a pair that may be shown, with how much there is to see in it.
type seen struct {
	interest float64
	pair     *Pair
	size     int
}

// maxShown is how many sessions a report shows and maxShownText how many bytes of text in them, maxDivergence the last
// turn at which divergences are counted apart.
const (
	maxShown      = 500
	maxShownText  = 32 << 20
	maxDivergence = 20
)

// Add takes a session that was played once, or several times. Its figures are the means over the times; it is lost when
// it is lost once. The pairs may be kept: do not change them any more.
func (t *Tally) Add(pairs ...*Pair) {
	if t.lanes == nil {
		t.lanes, t.ends, t.divergences, t.firsts = map[string]*variantTally{}, map[string]int{},
			map[int]int{}, map[string]int{}
	}
	pair := pairs[0]
	for _, p := range pairs {
		if p.FirstVariant != "" {
			t.firsts[p.FirstVariant]++
		}
		if pair.Dropped == "" && p.Dropped != "" {
			pair = p
		}
	}
	t.show(pair)
	t.check(pairs)
	of := playedOf(pair)
	if pair.Dropped != "" {
		t.lose(of, pairs)
		return
	}
	t.sessions = append(t.sessions, of)
	t.ends[pair.Outcome]++
	t.preferences.count(pairs)
	for _, name := range []string{Baseline, Candidate} {
		t.addVariant(name, pairs)
	}
	if candidate := pair.Variation(Candidate); candidate != nil && candidate.Metrics != nil {
		turn := 0
		if first := candidate.Metrics.FirstDivergence; first != nil {
			turn = min(*first, maxDivergence)
		}
		if !candidate.NoStates {
			t.divergences[turn]++
		}
		t.thinking = append(t.thinking, orNaN(candidate.Metrics.UserSeconds))
	}
}

func playedOf(pair *Pair) played {
	of := played{
		id: pair.SessionID, unit: pair.UnitID, flow: pair.FlowID, outcome: pair.Outcome,
		day: pair.Started.Format(time.DateOnly), slices: pair.Slices,
	}
	if observed := pair.Variation(Observed); observed != nil {
		of.turns = len(observed.Turns)
	}
	return of
}

func (t *Tally) lane(name string) *variantTally {
	if t.lanes[name] == nil {
		t.lanes[name] = &variantTally{whole: make([][]float64, len(table)), onSupport: make([][]float64, len(table))}
	}
	return t.lanes[name]
}

// lose counts a session that is lost. Its figures are left out, but not that a lane gave no answer.
func (t *Tally) lose(of played, pairs []*Pair) {
	t.lost = append(t.lost, of)
	failed := map[string]bool{}
	for _, p := range pairs {
		if p.Dropped != "" && len(t.drops) < maxExamples {
			t.drops = append(t.drops, p.SessionID+": "+p.Dropped)
		}
	}
	for _, name := range []string{Baseline, Candidate} {
		var answered []float64
		for _, p := range pairs {
			if lane := p.Variation(name); lane != nil {
				failed[name] = failed[name] || lane.Error != ""
				answered = append(answered, orNaN(lane.hasAnswered(of.turns)))
			}
		}
		if len(answered) > 0 {
			l := t.lane(name)
			l.answered = append(l.answered, orNaN(meanOf(answered)))
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

// addVariant adds the figures of a lane, which are means where the session was played several times.
func (t *Tally) addVariant(name string, pairs []*Pair) {
	var times []*Metrics
	for _, p := range pairs {
		if lane := p.Variation(name); lane != nil && lane.Metrics != nil {
			times = append(times, lane.Metrics)
			t.lane(name).count(lane, p)
		}
	}
	if len(times) == 0 {
		return
	}
	l := t.lane(name)
	row := make([]float64, len(times))
	for k, m := range times {
		if row[k] = orNaN(m.CompletionMatch); m.Censored {
			row[k] = 0
		}
	}
	l.literalMatch = append(l.literalMatch, orNaN(meanOf(row)))
	l.censored = append(l.censored, slices.ContainsFunc(times, func(m *Metrics) bool { return m.Censored }))
	for i := range table {
		for k, m := range times {
			row[k] = orNaN(table[i].of(m))
		}
		l.whole[i] = append(l.whole[i], meanOfTimes(&table[i], row))
		if len(pairs) > 1 {
			t.repeat(name, i, row)
		}
		for k, m := range times {
			row[k] = math.NaN()
			if table[i].onSupport != nil && m.OnSupport != nil {
				row[k] = orNaN(table[i].onSupport(m.OnSupport))
			}
		}
		l.onSupport[i] = append(l.onSupport[i], orNaN(meanOf(row)))
	}
}

// meanOfTimes is the mean of a metric over the times that a session was played. One that the gate looks at is unknown
// when it is unknown of any time: that one may be the worst.
func meanOfTimes(m *metric, row []float64) float64 {
	if m.role != shown && slices.ContainsFunc(row, math.IsNaN) {
		return math.NaN()
	}
	return orNaN(meanOf(row))
}

// count counts what is told of single turns.
func (l *variantTally) count(lane *Variation, p *Pair) {
	l.turns += len(lane.Turns)
	l.heard.hear(lane, p.Variation(Observed))
	if p.Mode == Simulated {
		l.simulated.count(lane, p.Variation(Observed))
	}
	for i := range lane.Turns {
		turn := &lane.Turns[i]
		if turn.LatencyMS != nil {
			l.latencySum += *turn.LatencyMS
			l.latencyN++
		}
		if p.Mode == Forced && !turn.Supported {
			l.misses++
		}
	}
}

// means are the means of S4's metrics to the letter.
func (l *variantTally) means() Means {
	means := Means{}
	for _, name := range MetricNames {
		means[name] = &Mean{}
		column := l.whole[columnOf(name)]
		if name == CompletionMatch {
			column = l.literalMatch
		}
		for _, x := range column {
			means[name].add(finite(x))
		}
	}
	return means
}

func orNaN(x *float64) float64 {
	if x == nil {
		return math.NaN()
	}
	return *x
}

// show keeps the pair if there is more to see in it than in others: dropped ones first, then those whose lanes differ
// most.
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

func isOne(x *float64) bool { return x != nil && *x == 1 }

// interest is how much there is to see in a pair.
func interest(pair *Pair) float64 {
	if pair.Dropped != "" {
		return 10
	}
	candidate, other := pair.Variation(Candidate).Metrics, (*Metrics)(nil)
	if baseline := pair.Variation(Baseline); baseline != nil {
		other = baseline.Metrics
	}
	sum := 0.0
	if other != nil && isOne(other.Completed) && !candidate.Censored && !isOne(candidate.Completed) {
		sum++ // newly lost
	}
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
