package compare

import (
	"cmp"
	"slices"
	"sync"

	"rehearse/internal/result"
	"rehearse/internal/stats"
)

// moved is how far the score of a passing test must go to count as another one.
const moved = 0.01

// rounding is how far a difference of scores may be from what its decimals say: 0.91 − 0.9 is 0.01.
const rounding = 1e-9

// Matched are the tests of two runs in their lists. Conclude has to fill in what follows from their scores.
type Matched struct {
	Comparison *result.Comparison
	// Pairs are the tests that were graded in both runs, by suite, id and target: the halves that are drawn of them, and so the figures, must not
	// depend on which test ended first.
	Pairs []Pair
}

// Pair is a test that was graded in both runs.
type Pair struct {
	// Was and Now are the places of its records among those that each Side yielded, from 0.
	Was, Now           int
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
	m := &Matched{Comparison: &result.Comparison{Baseline: result.ComparedOf(before.run), Candidate: result.ComparedOf(now.run)}}
	met := meet(before.tests, now.tests)
	m.pair(met)
	m.list(met)
	before.nameNotRun(m.Comparison.New, o, func(x *result.Change) *result.Verdict { return &x.Was })
	now.nameNotRun(m.Comparison.Gone, o, func(x *result.Change) *result.Verdict { return &x.Now })
	return m, nil
}

// meeting is a test in both runs; nil where a run lacks it.
type meeting struct{ was, now *test }

// meet joins the tests of two runs. All are by name.
func meet(was, now []test) []meeting {
	met := make([]meeting, 0, max(len(was), len(now)))
	for len(was) > 0 && len(now) > 0 {
		switch order := was[0].compare(now[0].key); {
		case order < 0:
			met, was = append(met, meeting{&was[0], nil}), was[1:]
		case order > 0:
			met, now = append(met, meeting{nil, &now[0]}), now[1:]
		default:
			met, was, now = append(met, meeting{&was[0], &now[0]}), was[1:], now[1:]
		}
	}
	for i := range was {
		met = append(met, meeting{&was[i], nil})
	}
	for i := range now {
		met = append(met, meeting{nil, &now[i]})
	}
	return met
}

// pair notes the tests that were graded in both runs.
func (m *Matched) pair(met []meeting) {
	m.Pairs = make([]Pair, 0, len(met))
	for _, x := range met {
		if x.was != nil && x.now != nil && x.was.verdict.Graded() && x.now.verdict.Graded() {
			m.Pairs = append(m.Pairs, Pair{x.was.nth, x.now.nth, x.was.score, x.now.score})
		}
	}
}

// list fills in the lists, each by name, and Moved by what was lost.
func (m *Matched) list(met []meeting) {
	sizes := map[*[]result.Change]int{}
	for _, x := range met {
		sizes[x.listIn(m.Comparison)]++
	}
	for _, list := range m.Comparison.Lists() {
		*list = make([]result.Change, 0, sizes[list])
	}
	var kept scores
	for _, x := range met {
		list := x.listIn(m.Comparison)
		*list = append(*list, kept.change(x))
	}
	slices.SortStableFunc(m.Comparison.Moved, func(a, b result.Change) int {
		one, _ := a.Delta()
		two, _ := b.Delta()
		return cmp.Compare(one, two)
	})
}

// listIn returns the list in which a test stands.
func (x meeting) listIn(c *result.Comparison) *[]result.Change {
	switch {
	case x.was == nil:
		return &c.New
	case x.now == nil:
		return &c.Gone
	}
	rise := x.now.score - x.was.score
	switch {
	case !x.now.verdict.Graded():
		return &c.Ungraded
	case x.now.verdict == result.Fail && x.was.verdict == result.Pass:
		return &c.Regressed
	case x.now.verdict == result.Fail:
		return &c.StillFailing
	case x.was.verdict != result.Pass:
		return &c.Fixed
	case rise >= moved-rounding || rise <= rounding-moved:
		return &c.Moved
	}
	return &c.Unchanged
}

// Scores returns the scores of the tests that were graded in both runs, and how they are compared. Every test is a cluster of its own, numbered by its
// place in Pairs.
func (m *Matched) Scores() stats.Metric {
	of := stats.Metric{Pairs: stats.NewPairs(len(m.Pairs)), Criterion: stats.Criterion{PassFail: true, Seed: 42}}
	for i, p := range m.Pairs {
		of.Pairs.AddNumbered(i, p.wasScore, p.nowScore)
	}
	return of
}

// scores keeps scores that changes point to, many in one piece of memory.
type scores []float64

// change is a test as a list shows it.
func (s *scores) change(x meeting) result.Change {
	was, now := cmp.Or(x.was, &test{}), cmp.Or(x.now, &test{})
	name := cmp.Or(x.now, x.was)
	c := result.Change{Suite: name.suite, TestID: name.id, Target: name.of, Was: was.verdict, Now: now.verdict, Codes: now.codes}
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
