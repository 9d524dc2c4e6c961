// Package compare says what changed from one run to another, test by test, and what that means for an exit code.
package compare

import (
	"rehearse/internal/result"
	"rehearse/internal/runlog"
	"rehearse/internal/source"
	"rehearse/internal/stats"
)

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
	m, err := Match(baseline, candidate, o)
	if err != nil {
		return nil, err
	}
	scores := m.Scores()
	m.Conclude(scores.Pairs.Compare(scores.Criterion))
	return m.Comparison, nil
}

// Conclude fills in the paired difference and the verdict, which follow from the difference of Scores.
func (m *Matched) Conclude(d stats.Difference) {
	c := m.Comparison
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
