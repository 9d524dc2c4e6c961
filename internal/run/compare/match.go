package compare

import (
	"cmp"
	"slices"
	"sync"

	"github.com/rehearse-dev/rehearse/internal/base/stats"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// moved is how far the score of a passing test must go to count as another one.
const moved = 0.01

// rounding is how far a difference of scores may be from what its decimals say: 0.91 − 0.9 is 0.01.
const rounding = 1e-9

// Matched are the tests of two runs in their lists. Conclude has to fill in what follows from their scores.
type Matched struct {
	Comparison *result.Comparison
	// Pairs are the tests that were graded alike in both runs, by suite, id and target: the halves that are drawn of
	// them, and so the figures, must not depend on which test ended first.
	Pairs []Pair
	// largest is the size of the largest cluster.
	largest int
}

// Pair is a test that was graded in both runs.
type Pair struct {
	// Was and Now are the places of its records among those that each Side yielded, from 0.
	Was, Now int
	// Cluster numbers the tests whose outcomes may depend on each other, from 0.
	Cluster            int
	wasScore, nowScore float64
}

// Match finds the tests of a run in another. It reads both at the same time.
func Match(baseline, candidate Side, o Options) (*Matched, error) {
	var before, now *side
	var noBefore, noNow error
	var both sync.WaitGroup
	both.Go(func() { before, noBefore = read("baseline", baseline, o) })
	both.Go(func() { now, noNow = read("candidate", candidate, o) })
	both.Wait()
	if err := cmp.Or(noBefore, noNow); err != nil {
		return nil, err
	}
	m := &Matched{Comparison: &result.Comparison{
		Baseline: result.ComparedOf(before.run), Candidate: result.ComparedOf(now.run),
	}}
	met := meet(before.tests, now.tests)
	m.settle(met, &judgings{was: before.run, now: now.run})
	shownToFall(met)
	m.pair(met)
	m.list(met, o)
	before.nameNotRun(m.Comparison.New, o, func(x *result.Change) *result.Verdict { return &x.Was })
	now.nameNotRun(m.Comparison.Gone, o, func(x *result.Change) *result.Verdict { return &x.Now })
	return m, nil
}

// meeting is a test in both runs; nil where a run lacks it.
type meeting struct {
	was, now *test
	// differs are the settings that keep its records from being compared.
	differs []setting
	// shown is true where an exact test shows that its trials pass less often.
	shown bool
}

// meet joins the tests of two runs. All are by name.
func meet(was, now []test) []meeting {
	met := make([]meeting, 0, max(len(was), len(now)))
	for len(was) > 0 && len(now) > 0 {
		switch order := was[0].compare(now[0].key); {
		case order < 0:
			met, was = append(met, meeting{was: &was[0]}), was[1:]
		case order > 0:
			met, now = append(met, meeting{now: &now[0]}), now[1:]
		default:
			met, was, now = append(met, meeting{was: &was[0], now: &now[0]}), was[1:], now[1:]
		}
	}
	for i := range was {
		met = append(met, meeting{was: &was[i]})
	}
	for i := range now {
		met = append(met, meeting{now: &now[i]})
	}
	return met
}

// settle finds the tests that were not graded alike, and lists what differs.
func (m *Matched) settle(met []meeting, judges *judgings) {
	var found differences
	unknown := 0
	for i := range met {
		x := &met[i]
		if x.was == nil || x.now == nil {
			continue
		}
		x.differs = x.was.terms.differ(&x.now.terms, judges.suite(x.now.suite))
		for _, s := range x.differs {
			found.add(s)
		}
		if x.was.terms.definition == "" || x.now.terms.definition == "" {
			unknown++
		}
	}
	m.Comparison.Differences = found.list(judges, unknown)
}

// compared reports whether a test is in a pair: graded alike in both runs.
func (x *meeting) compared() bool {
	return x.was != nil && x.now != nil && len(x.differs) == 0 && x.was.verdict.Graded() && x.now.verdict.Graded()
}

// fell reports whether a test passed and fails now, or its trials are shown to pass less often.
func (x *meeting) fell() bool {
	return x.compared() && (x.shown || x.was.verdict == result.Pass && x.now.verdict == result.Fail)
}

// pair notes the tests that were graded in both runs.
func (m *Matched) pair(met []meeting) {
	m.Pairs = make([]Pair, 0, len(met))
	type named struct{ suite, cluster string }
	numbers, sizes := map[named]int{}, []int{}
	for i := range met {
		x := &met[i]
		if !x.compared() {
			continue
		}
		number, known := len(sizes), false
		if name := (named{x.now.suite, cmp.Or(x.now.cluster, x.was.cluster)}); name.cluster != "" {
			if number, known = numbers[name]; !known {
				number = len(sizes)
				numbers[name] = number
			}
		}
		if !known {
			sizes = append(sizes, 0)
		}
		sizes[number]++
		m.largest = max(m.largest, sizes[number])
		was, now := x.was.score, x.now.score
		if x.was.graded != nil && x.now.graded != nil { // turns that nothing grades change no difference
			was, now = *x.was.graded, *x.now.graded
		}
		m.Pairs = append(m.Pairs, Pair{x.was.nth, x.now.nth, number, was, now})
	}
}

// list fills in the lists, each by name, and Moved by what was lost.
func (m *Matched) list(met []meeting, o Options) {
	sizes := map[*[]result.Change]int{}
	for i := range met {
		sizes[met[i].listIn(m.Comparison, o)]++
	}
	for _, list := range m.Comparison.Lists() {
		*list = make([]result.Change, 0, sizes[list])
	}
	m.Comparison.GradedOnRetry = []result.Change{}
	var kept scores
	for i := range met {
		x := &met[i]
		list, change := x.listIn(m.Comparison, o), kept.change(x, o)
		*list = append(*list, change)
		if x.now != nil && x.now.retried {
			m.Comparison.GradedOnRetry = append(m.Comparison.GradedOnRetry, change)
		}
	}
	slices.SortStableFunc(m.Comparison.Moved, func(a, b result.Change) int {
		one, _ := a.Delta()
		two, _ := b.Delta()
		return cmp.Compare(one, two)
	})
}

// listIn returns the list in which a test stands.
func (x *meeting) listIn(c *result.Comparison, o Options) *[]result.Change {
	switch {
	case x.was == nil:
		return &c.New
	case x.now == nil:
		return &c.Gone
	case len(x.differs) > 0:
		return &c.Redefined
	}
	rise := x.now.score - x.was.score
	switch {
	case !x.now.verdict.Graded():
		return &c.NotGraded
	case x.fell():
		return x.fallIn(c, o)
	case x.now.verdict == result.Fail:
		return &c.StillFailing
	case x.was.verdict != result.Pass:
		return &c.Fixed
	case rise >= moved-rounding || rise <= rounding-moved:
		return &c.Moved
	}
	return &c.Unchanged
}

// fallIn returns the list of a fall.
func (x *meeting) fallIn(c *result.Comparison, o Options) *[]result.Change {
	repeats := o.Repeats.Of[x.now.record()]
	switch {
	case x.shown || x.required() || o.Deterministic:
		return &c.Regressed
	case slices.Contains(repeats, result.Pass):
		return &c.WithinNoise
	case o.Repeats.N > 0 && len(repeats) >= o.Repeats.N &&
		!slices.ContainsFunc(repeats, func(v result.Verdict) bool { return v != result.Fail }):
		return &c.Regressed
	}
	return &c.Unconfirmed
}

// required reports whether the fall of the test decides the gate alone: either run requires it, and the candidate does
// not have it in quarantine.
func (x *meeting) required() bool {
	if x.now != nil && x.now.quarantined {
		return false
	}
	return x.was != nil && x.was.required || x.now != nil && x.now.required
}

// record returns the key of the test's record, without a trial.
func (t *test) record() result.Key { return result.Key{Suite: t.suite, TestID: t.id, Target: t.of} }

// Scores returns the scores of the tests that were graded in both runs, and how they are compared: by the clusters of
// Pairs.
func (m *Matched) Scores() stats.Metric {
	of := stats.Metric{
		Pairs: stats.NewPairs(len(m.Pairs)), Criterion: stats.Criterion{PassFail: true, Range: 1, Seed: 42},
	}
	for _, p := range m.Pairs {
		of.Pairs.AddNumbered(p.Cluster, p.wasScore, p.nowScore)
	}
	return of
}

// scores keeps scores that changes point to, many in one piece of memory.
type scores []float64

// change is a test as a list shows it.
func (s *scores) change(x *meeting, o Options) result.Change {
	was, now := cmp.Or(x.was, &test{}), cmp.Or(x.now, &test{})
	name := cmp.Or(x.now, x.was)
	c := result.Change{
		Suite: name.suite, TestID: name.id, Target: name.of, Was: was.verdict, Now: now.verdict, Codes: now.codes,
		Required: x.required(),
	}
	for _, d := range x.differs {
		c.Differs = append(c.Differs, d.what)
	}
	if x.now != nil {
		c.Repeats = o.Repeats.Of[now.record()]
	}
	if was.verdict.Graded() {
		c.WasScore = s.keep(was.score)
	}
	if now.verdict.Graded() {
		c.NowScore = s.keep(now.score)
	}
	return c
}

func (s *scores) keep(score float64) *float64 {
	if len(*s) == cap(*s) {
		*s = make(scores, 0, 1024)
	}
	*s = append(*s, score)
	return &(*s)[len(*s)-1]
}
