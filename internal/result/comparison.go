package result

import "encoding/json"

// NotRun stands in a Change for the verdict of a test that a run planned and did not run. No record has it.
const NotRun Verdict = "not_run"

// Comparison says what changed from a baseline run to a candidate (suites.md 8). Every test of either run is in exactly one of the lists.
type Comparison struct {
	Baseline  Compared `json:"baseline"`
	Candidate Compared `json:"candidate"`
	// Regressed passed and fail now; Fixed did not pass and do now; StillFailing fail now and did not pass before.
	Regressed    []Change `json:"regressed"`
	Fixed        []Change `json:"fixed"`
	StillFailing []Change `json:"still_failing"`
	// Ungraded are errors or skipped in the candidate.
	Ungraded []Change `json:"ungraded"`
	// Moved and Unchanged pass in both, with another score or about the same.
	Moved     []Change `json:"moved"`
	Unchanged []Change `json:"unchanged"`
	// New and Gone are in one of the runs only.
	New  []Change `json:"new"`
	Gone []Change `json:"gone"`
	// Paired is over the tests that were graded in both runs.
	Paired Paired `json:"paired"`
	// Verdict is better or worse when the interval of Paired leaves out 0, else inconclusive.
	Verdict string `json:"verdict"`
}

// Lists returns every list, in the order in which they matter.
func (c *Comparison) Lists() []*[]Change {
	return []*[]Change{&c.Regressed, &c.StillFailing, &c.Ungraded, &c.Fixed, &c.Moved, &c.New, &c.Gone, &c.Unchanged}
}

// Compared is one of the runs of a comparison: how far it came.
type Compared struct {
	RunID string `json:"run_id"`
	// ExitReason is the run's, ReasonDied of a run that died.
	ExitReason string `json:"exit_reason"`
	Planned    int    `json:"planned"`
	Held       int    `json:"held"`
	NotRun     int    `json:"not_run"`
}

// ComparedOf returns a run as it stands in a comparison.
func ComparedOf(run Run) Compared {
	t := run.Totals
	return Compared{RunID: run.ID, ExitReason: run.ExitReason, Planned: t.Planned, Held: t.Completed, NotRun: t.NotRun}
}

// Stopped reports whether the run ended, or died, before it had held all that it set out to hold, or still goes on.
func (c Compared) Stopped() bool {
	return (&Run{ExitReason: c.ExitReason, Totals: Totals{NotRun: c.NotRun}}).Stopped()
}

// Paired is the difference of two runs in the mean score of the same tests, candidate minus baseline.
type Paired struct {
	N int `json:"n"`
	// MeanDifference is nil when no test was graded in both runs.
	MeanDifference *float64 `json:"mean_difference"`
	// Interval is the 95 % interval; nil below two tests.
	Interval *[2]float64 `json:"interval"`
}

// Change is one test in two runs.
type Change struct {
	Suite  string `json:"suite"`
	TestID string `json:"test_id"`
	// Target is the candidate's, the baseline's where the candidate lacks the test.
	Target string `json:"target"`
	// Was and Now are the verdicts; NotRun where the run planned the test and did not run it, empty (null in JSON) where it has no such test.
	Was Verdict `json:"was"`
	Now Verdict `json:"now"`
	// WasScore and NowScore are nil where the test was not graded.
	WasScore *float64 `json:"was_score"`
	NowScore *float64 `json:"now_score"`
	// Codes are the failure codes of the candidate.
	Codes []Code `json:"codes"`
}

// MarshalJSON writes null for an empty verdict, and a list also where there are no codes.
func (c Change) MarshalJSON() ([]byte, error) {
	type plain Change
	wire := struct {
		plain
		Was *Verdict `json:"was"`
		Now *Verdict `json:"now"`
	}{plain: plain(c)}
	if c.Was != "" {
		wire.Was = &c.Was
	}
	if c.Now != "" {
		wire.Now = &c.Now
	}
	if wire.Codes == nil {
		wire.Codes = []Code{}
	}
	return json.Marshal(wire)
}

// Delta returns by how much the score rose; ok is false where the test was not graded in both runs.
func (c Change) Delta() (delta float64, ok bool) {
	if c.WasScore == nil || c.NowScore == nil {
		return 0, false
	}
	return *c.NowScore - *c.WasScore, true
}
