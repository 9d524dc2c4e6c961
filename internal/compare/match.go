package compare

import (
	"cmp"
	"slices"

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

// Match finds the tests of a run in another.
func Match(baseline, candidate Side, o Options) (*Matched, error) {
	was := standings{all: make([]standing, 0, baseline.expected())}
	before, err := read("baseline", baseline, o, was.add)
	if err != nil {
		return nil, err
	}
	c := &result.Comparison{}
	met, sizes := make([]meeting, 0, candidate.expected()), map[*[]result.Change]int{}
	now, err := read("candidate", candidate, o, func(key key, t test) {
		of, list := was.find(key), &c.New
		if of != nil {
			of.seen = true
			list = listOf(c, of.test, t)
		}
		met = append(met, meeting{key, t, of, list})
		sizes[list]++
	})
	if err != nil {
		return nil, err
	}
	for _, list := range c.Lists() {
		*list = make([]result.Change, 0, sizes[list])
	}
	m := &Matched{Comparison: c, Pairs: pairsOf(met)}
	m.fill(met, was.all)
	c.Baseline, c.Candidate = result.ComparedOf(before.run), result.ComparedOf(now.run)
	before.nameNotRun(c.New, o, func(x *result.Change) *result.Verdict { return &x.Was })
	now.nameNotRun(c.Gone, o, func(x *result.Change) *result.Verdict { return &x.Now })
	order(c)
	return m, nil
}

// meeting is a test of the candidate with that of the baseline, nil where the baseline lacks it, and the list in which it stands.
type meeting struct {
	key key
	test
	of   *standing
	list *[]result.Change
}

// maxExpected bounds for how many tests room is made before they are there.
const maxExpected = 1 << 17

// expected returns how many tests a run says that it has.
func (s Side) expected() int { return min(max(s.Run.Totals.Tests, 0), maxExpected) }

// pairsOf returns the tests that were graded in both runs.
func pairsOf(met []meeting) []Pair {
	graded := make([]*meeting, 0, len(met))
	for i := range met {
		if x := &met[i]; x.of != nil && x.of.verdict.Graded() && x.verdict.Graded() {
			graded = append(graded, x)
		}
	}
	slices.SortFunc(graded, func(a, b *meeting) int {
		return cmp.Or(cmp.Compare(a.key.suite, b.key.suite), cmp.Compare(a.key.id, b.key.id), cmp.Compare(a.key.target, b.key.target))
	})
	pairs := make([]Pair, len(graded))
	for i, x := range graded {
		pairs[i] = Pair{x.of.nth, x.nth, x.of.score, x.score}
	}
	return pairs
}

// fill fills in the lists.
func (m *Matched) fill(met []meeting, was []standing) {
	var kept scores
	for i := range met {
		x, before := &met[i], test{}
		if x.of != nil {
			before = x.of.test
		}
		*x.list = append(*x.list, kept.change(x.key, before, x.test))
	}
	for i := range was {
		if of := &was[i]; !of.seen {
			m.Comparison.Gone = append(m.Comparison.Gone, kept.change(of.key, of.test, test{}))
		}
	}
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

// standing is a test of the baseline. It is seen once the candidate has it too.
type standing struct {
	key key
	test
	seen bool
}

// standings are the tests of the baseline in their order.
type standings struct {
	all []standing
	// next is where the candidate's next test stands if its order is the baseline's, as that of one suite mostly is. Places are made once it is not.
	next   int
	places map[key]int
}

func (s *standings) add(key key, t test) { s.all = append(s.all, standing{key: key, test: t}) }

// find returns a test of the baseline, nil if there is none.
func (s *standings) find(of key) *standing {
	at, ok := s.next, s.next < len(s.all) && s.all[s.next].key == of
	if !ok {
		if s.places == nil {
			s.places = make(map[key]int, len(s.all))
			for i := range s.all {
				s.places[s.all[i].key] = i
			}
		}
		if at, ok = s.places[of]; !ok {
			return nil
		}
	}
	s.next = at + 1
	return &s.all[at]
}

// listOf returns the list of a test that both runs have.
func listOf(c *result.Comparison, before, now test) *[]result.Change {
	rise := now.score - before.score
	switch {
	case !now.verdict.Graded():
		return &c.Ungraded
	case now.verdict == result.Fail && before.verdict == result.Pass:
		return &c.Regressed
	case now.verdict == result.Fail:
		return &c.StillFailing
	case before.verdict != result.Pass:
		return &c.Fixed
	case rise >= moved-rounding || rise <= rounding-moved:
		return &c.Moved
	}
	return &c.Unchanged
}

// change is a test as a list shows it; the zero test stands for none.
func (s *scores) change(key key, before, now test) result.Change {
	x := result.Change{
		Suite: key.suite, TestID: key.id, Target: cmp.Or(now.target, before.target), Was: before.verdict, Now: now.verdict, Codes: now.codes,
	}
	if before.verdict.Graded() {
		x.WasScore = s.keep(before.score)
	}
	if now.verdict.Graded() {
		x.NowScore = s.keep(now.score)
	}
	return x
}

// scores keeps scores that changes point to, many in one piece of memory.
type scores []float64

func (s *scores) keep(score float64) *float64 {
	if len(*s) == cap(*s) {
		*s = make(scores, 0, 1024)
	}
	*s = append(*s, score)
	return &(*s)[len(*s)-1]
}

// order sorts every list by name, and Moved by what was lost.
func order(c *result.Comparison) {
	for _, list := range c.Lists() {
		slices.SortFunc(*list, func(a, b result.Change) int {
			return cmp.Or(cmp.Compare(a.Suite, b.Suite), cmp.Compare(a.TestID, b.TestID), cmp.Compare(a.Target, b.Target))
		})
	}
	slices.SortStableFunc(c.Moved, func(a, b result.Change) int {
		one, _ := a.Delta()
		two, _ := b.Delta()
		return cmp.Compare(one, two)
	})
}
