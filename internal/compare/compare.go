// Package compare says what changed from one run to another, test by test, and what that means for an exit code.
package compare

import (
	"cmp"
	"slices"

	"rehearse/internal/result"
	"rehearse/internal/runlog"
	"rehearse/internal/source"
	"rehearse/internal/stats"
)

// moved is how far the score of a passing test must go to count as another one.
const moved = 0.01

// rounding is how far a difference of scores may be from what its decimals say: 0.91 − 0.9 is 0.01.
const rounding = 1e-9

// Side is one of the two runs: its record and its tests.
type Side struct {
	Run   result.Run
	Tests runlog.Tests
}

// Open returns the run in a folder. A run that nobody holds any more and that has not ended has died.
func Open(dir string) (Side, error) {
	run, err := runlog.Look(dir)
	return Side{Run: run, Tests: runlog.ReadWhole(dir, run)}, err
}

// Options say how tests of the two runs are matched.
type Options struct {
	// IgnoreTarget matches by suite and id alone. It is an error where a run has several targets.
	IgnoreTarget bool
}

// Check returns an error, fit for whoever asked, if the targets of a run cannot be ignored. Name says which run it is.
func (o Options) Check(name string, targets int) error {
	if o.IgnoreTarget && targets > 1 {
		return source.Invalid("--ignore-target: the %s has %d targets: compare runs of one target each, or leave the flag out", name, targets)
	}
	return nil
}

// Runs compares two runs. Of a test with trials it compares the aggregates. It remembers some hundred bytes a test, whatever was said in it.
func Runs(baseline, candidate Side, o Options) (*result.Comparison, error) {
	var was standings
	before, err := read("baseline", baseline, o, was.add)
	if err != nil {
		return nil, err
	}
	c, pairs, paired := &result.Comparison{}, stats.Pairs{}, 0
	var kept scores
	for _, list := range c.Lists() {
		*list = []result.Change{}
	}
	now, err := read("candidate", candidate, o, func(key key, t test) {
		of := was.find(key)
		if of == nil {
			c.New = append(c.New, kept.change(key, test{}, t))
			return
		}
		of.seen = true
		list := listOf(c, of.test, t)
		*list = append(*list, kept.change(key, of.test, t))
		if of.verdict.Graded() && t.verdict.Graded() {
			pairs.AddNumbered(paired, of.score, t.score) // every test is a cluster of its own
			paired++
		}
	})
	if err != nil {
		return nil, err
	}
	for i := range was.all {
		if of := &was.all[i]; !of.seen {
			c.Gone = append(c.Gone, kept.change(of.key, of.test, test{}))
		}
	}
	c.Baseline, c.Candidate = result.ComparedOf(before.run), result.ComparedOf(now.run)
	before.nameNotRun(c.New, o, func(x *result.Change) *result.Verdict { return &x.Was })
	now.nameNotRun(c.Gone, o, func(x *result.Change) *result.Verdict { return &x.Now })
	order(c)
	conclude(c, &pairs)
	return c, nil
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

// scores keeps scores that changes point to, many in one piece of memory.
type scores []float64

func (s *scores) keep(score float64) *float64 {
	if len(*s) == cap(*s) {
		*s = make(scores, 0, 1024)
	}
	*s = append(*s, score)
	return &(*s)[len(*s)-1]
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

// conclude fills in the paired difference and the verdict.
func conclude(c *result.Comparison, pairs *stats.Pairs) {
	d := pairs.Compare(stats.Criterion{PassFail: true, Seed: 42})
	c.Paired.N, c.Verdict = d.N, string(stats.Inconclusive)
	if d.N == 0 {
		return
	}
	c.Paired.MeanDifference = &d.Mean
	if d.N < 2 {
		return
	}
	interval := d.Interval
	if d.Changed == 0 { // that no pair differs does not say that none would
		bound := stats.RuleOfThree(d.N)
		interval = [2]float64{-bound, bound}
	}
	// Scores are between 0 and 1, so no difference is larger than 1.
	c.Paired.Interval = &[2]float64{max(interval[0], -1), min(interval[1], 1)}
	if d.Verdict == stats.Better || d.Verdict == stats.Worse {
		c.Verdict = string(d.Verdict)
	}
}

// Unmatched says that two runs have no test in common, and what may be the reason; "" where they have one, or one of them has none at all.
func Unmatched(c *result.Comparison) string {
	if len(c.Regressed)+len(c.StillFailing)+len(c.Ungraded)+len(c.Fixed)+len(c.Moved)+len(c.Unchanged) > 0 || len(c.New)*len(c.Gone) == 0 {
		return ""
	}
	gone := map[key]bool{}
	for _, x := range c.Gone {
		gone[key{suite: x.Suite, id: x.TestID}] = true
	}
	for _, x := range c.New {
		if gone[key{suite: x.Suite, id: x.TestID}] {
			return "no test is in both runs with the same target: --ignore-target compares by suite and id alone"
		}
	}
	return "no test is in both runs"
}
