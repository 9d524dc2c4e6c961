package report

import (
	"cmp"
	"fmt"
	"slices"

	"rehearse/internal/result"
	"rehearse/internal/runlog"
	"rehearse/internal/stats"
	"rehearse/internal/text"
)

// moved is how far a score must go, with an unchanged verdict, to be listed.
const moved = 0.01

// Change is one test in two runs.
type Change struct {
	Suite, TestID, Target string
	// Was and Now are its verdicts; empty where the run has no such test.
	Was, Now           result.Verdict
	WasScore, NowScore float64
	// Codes are the candidate's failure codes.
	Codes []result.Code
}

// Delta returns by how much the score rose.
func (c Change) Delta() float64 { return c.NowScore - c.WasScore }

// Diff says what changed from a baseline run to a candidate. A test is in at most one of the lists.
type Diff struct {
	Baseline, Candidate string // ids of the runs
	// Regressed passed and now fail; Fixed did not pass and now do; StillFailing fail as before, or after an error.
	Regressed, Fixed, StillFailing []Change
	// Ungraded could not be run or were skipped in the candidate, so nothing can be said about them.
	Ungraded []Change
	// New and Gone are in one of the runs only.
	New, Gone []Change
	// Moved pass in both, with another score; the largest loss comes first.
	Moved []Change
	// Unchanged counts the tests that pass in both with about the same score.
	Unchanged int
	// Paired counts the tests graded in both, MeanDelta is how much their scores rose on average,
	// and Interval its 95 % paired t interval, which says nothing (is infinite) below two tests.
	Paired    int
	MeanDelta float64
	Interval  [2]float64
}

// standing is what a comparison remembers of a baseline's test.
type standing struct {
	verdict result.Verdict
	score   float64
	seen    bool
}

// Compare compares two runs test by test: by suite, test id and target. Of a test with trials it compares the aggregates.
// It remembers a few dozen bytes per test of the baseline, and the tests that it lists.
func Compare(baseline, candidate runlog.Tests) (*Diff, error) {
	d := &Diff{}
	was := map[id]*standing{}
	for t, err := range baseline {
		if err != nil {
			return nil, fmt.Errorf("baseline: %w", err)
		}
		if t.Trial == 0 {
			was[idOf(t)] = &standing{verdict: t.Verdict, score: t.Score}
			d.Baseline = cmp.Or(d.Baseline, t.RunID)
		}
	}
	var deltas []float64
	for t, err := range candidate {
		if err != nil {
			return nil, fmt.Errorf("candidate: %w", err)
		}
		if t.Trial > 0 {
			continue
		}
		d.Candidate = cmp.Or(d.Candidate, t.RunID)
		before := was[idOf(t)]
		if before != nil {
			before.seen = true
			if graded(before.verdict) && graded(t.Verdict) {
				deltas = append(deltas, t.Score-before.score)
			}
		}
		d.file(before, t)
	}
	for key, before := range was {
		if !before.seen {
			d.Gone = append(d.Gone, Change{
				Suite: key.suite, TestID: key.test, Target: key.target, Was: before.verdict, WasScore: before.score,
			})
		}
	}
	d.order()
	d.Paired = len(deltas)
	for _, delta := range deltas {
		d.MeanDelta += delta / float64(len(deltas))
	}
	d.Interval = stats.TInterval(deltas)
	return d, nil
}

func graded(v result.Verdict) bool { return v == result.Pass || v == result.Fail }

// file puts a test of the candidate where it belongs.
func (d *Diff) file(before *standing, t *result.Test) {
	c := Change{
		Suite: t.Suite, TestID: t.TestID, Target: t.Target, Now: t.Verdict, NowScore: t.Score, Codes: codesOf(t),
	}
	if before == nil {
		d.New = append(d.New, c)
		return
	}
	c.Was, c.WasScore = before.verdict, before.score
	switch {
	case !graded(c.Now):
		d.Ungraded = append(d.Ungraded, c)
	case c.Now == result.Fail && c.Was == result.Pass:
		d.Regressed = append(d.Regressed, c)
	case c.Now == result.Fail:
		d.StillFailing = append(d.StillFailing, c)
	case c.Was != result.Pass:
		d.Fixed = append(d.Fixed, c)
	case c.Delta() >= moved || c.Delta() <= -moved:
		d.Moved = append(d.Moved, c)
	default:
		d.Unchanged++
	}
}

// order sorts every list by name, and Moved by what was lost.
func (d *Diff) order() {
	byName := func(a, b Change) int {
		return id{a.Suite, a.TestID, a.Target}.compare(id{b.Suite, b.TestID, b.Target})
	}
	for _, list := range d.lists() {
		slices.SortFunc(list.changes, byName)
	}
	slices.SortStableFunc(d.Moved, func(a, b Change) int { return cmp.Compare(a.Delta(), b.Delta()) })
}

// list is one of a Diff's lists as reports show it.
type list struct {
	name    string
	verdict result.Verdict // whose sign and colour it takes
	changes []Change
}

// lists returns the lists in the order in which they matter.
func (d *Diff) lists() []list {
	return []list{
		{"Regressed", result.Fail, d.Regressed},
		{"Still failing", result.Fail, d.StillFailing},
		{"Not comparable: error or skipped", result.Error, d.Ungraded},
		{"Fixed", result.Pass, d.Fixed},
		{"Passing, with another score", result.Pass, d.Moved},
		{"New", result.Skip, d.New},
		{"Gone", result.Skip, d.Gone},
	}
}

// headline says in a line what changed.
func (d *Diff) headline() string {
	return fmt.Sprintf("%s regressed, %s fixed, %s still failing, %s new, %s gone",
		text.Count(len(d.Regressed)), text.Count(len(d.Fixed)), text.Count(len(d.StillFailing)), text.Count(len(d.New)), text.Count(len(d.Gone)))
}

// drift says how the scores moved on average, or "" when there is nothing to compare.
func (d *Diff) drift() string {
	switch {
	case d.Paired == 0:
		return ""
	case d.Paired < 2:
		return "score " + signed(d.MeanDelta) + " in the one test graded in both runs"
	}
	return fmt.Sprintf("mean score %s (95%% interval %s to %s) over %s graded in both runs",
		signed(d.MeanDelta), signed(d.Interval[0]), signed(d.Interval[1]), text.Plural(d.Paired, "test"))
}

// Change says what happened to the test.
func (c Change) Change() string {
	v := func(v result.Verdict, s float64) string {
		if graded(v) {
			return fmt.Sprintf("%s %s", v, score(s))
		}
		return string(v)
	}
	switch {
	case c.Was == "":
		return v(c.Now, c.NowScore)
	case c.Now == "":
		return "was " + v(c.Was, c.WasScore)
	}
	s := v(c.Was, c.WasScore) + " → " + v(c.Now, c.NowScore)
	if graded(c.Was) && graded(c.Now) {
		s += " (" + signed(c.Delta()) + ")"
	}
	return s
}
