// Package compare says what changed from one run to another, test by test, and what that means for an exit code.
package compare

import (
	"math"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/base/stats"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Side is one of the two runs: its record and its tests.
type Side struct {
	Run result.Run
	// Tests may be brief (runlog.Briefs).
	Tests runlog.Tests
	// Retried has records that take the place of errors in Tests: what repeats graded.
	Retried map[result.Key]*result.Test
}

// Open returns the run in a folder. A run that has not ended and that no process
// writes has died.
func Open(dir string) (Side, error) {
	run, err := runlog.Inspect(dir)
	return Side{Run: run, Tests: runlog.Briefs(runlog.ReadRecords(dir, run))}, err
}

// Options are how two runs are compared.
type Options struct {
	// IgnoreTarget matches by suite and id alone. It is an error where a run has several targets.
	IgnoreTarget bool
	// Deterministic is true of an agent that replies the same way every time: each fall is confirmed.
	Deterministic bool
	// Repeats are what confirmed or cleared falls; the zero value has none.
	Repeats Repeats
}

// Repeats are the outcomes of tests of the candidate that were run again.
type Repeats struct {
	// N is how many failing repeats confirm a fall.
	N int
	// Of has the verdicts of each test's repeats in their order, by the keys of its records without a trial.
	Of map[result.Key][]result.Verdict
}

// Check returns an error, fit for whoever asked, if the targets of a run cannot be ignored. Name says which run it is.
func (o Options) Check(name string, targets int) error {
	if o.IgnoreTarget && targets > 1 {
		return source.Invalid(
			"--ignore-target: the %s has %d targets: compare runs of one target each, or leave the flag out",
			name, targets)
	}
	return nil
}

// Runs compares two runs. Of a test with trials it compares the aggregates. It remembers some hundred bytes a test,
// whatever was said in it.
func Runs(baseline, candidate Side, o Options) (*result.Comparison, error) {
	m, err := Match(baseline, candidate, o)
	if err != nil {
		return nil, err
	}
	scores := m.Scores()
	m.Conclude(scores.Pairs.Compare(scores.Criterion))
	return m.Comparison, nil
}

// Conclude fills in the paired difference, its power and the verdict, which follow from the difference of Scores.
func (m *Matched) Conclude(d stats.Difference) {
	c := m.Comparison
	c.Verdict = string(stats.Inconclusive)
	c.Paired = result.Paired{
		N: d.N, Clusters: d.Clusters, ICC: d.ICC, DesignEffect: d.DesignEffect, LargestCluster: m.largest,
	}
	if d.N == 0 {
		return
	}
	c.Paired.MeanDifference = &d.Mean
	// Scores are between 0 and 1: a larger difference cannot be, and cannot be detected.
	half := 0.5
	if d.Detectable <= 1 {
		c.Detectable, half = &d.Detectable, d.Detectable/2
	}
	if n := d.UnitsFor(half); n > 0 {
		c.TestsNeeded = new(int(math.Ceil(float64(n) * float64(d.N) / float64(d.Clusters))))
	}
	low, high := max(d.Interval[0], -1), min(d.Interval[1], 1)
	if d.Clusters < 2 || low <= -1 && high >= 1 {
		return
	}
	c.Paired.Interval = &[2]float64{low, high}
	if d.Verdict == stats.Better || d.Verdict == stats.Worse {
		c.Verdict = string(d.Verdict)
	}
}

// Unmatched says that two runs have no test in common, and what may be the reason; "" where they have one, or one of
// them has none at all.
func Unmatched(c *result.Comparison) string {
	if len(c.New)*len(c.Gone) == 0 {
		return ""
	}
	for _, list := range c.Lists() {
		if len(*list) > 0 && list != &c.New && list != &c.Gone {
			return ""
		}
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
