package result

import (
	"encoding/json"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
)

// NotRun stands in a Change for the verdict of a test that a run planned and did not run. No record has it.
const NotRun Verdict = "not_run"

// Comparison lists what changed from a baseline run to a candidate. Every test of either run is in exactly one of its
// Lists.
type Comparison struct {
	Baseline  Compared `json:"baseline"`
	Candidate Compared `json:"candidate"`
	// Differences are settings that differ between the runs.
	Differences []SettingDifference `json:"differences"`
	// Regressed, Unconfirmed and WithinNoise have the falls: tests that passed and fail now, and tests whose trials
	// passed less often by an exact test. A fall in Regressed is confirmed: by that test, by repeats that all failed,
	// or because the test is required or the agent is deterministic. One in Unconfirmed was seen once and not repeated
	// to the end. One in WithinNoise passed in a repeat.
	Regressed   []Change `json:"regressed"`
	Unconfirmed []Change `json:"unconfirmed"`
	WithinNoise []Change `json:"within_noise"`
	// Fixed did not pass and do now; StillFailing fail now and did not pass before.
	Fixed        []Change `json:"fixed"`
	StillFailing []Change `json:"still_failing"`
	// NotGraded are errors, skipped or ungraded in the candidate.
	NotGraded []Change `json:"not_graded"`
	// Moved and Unchanged pass in both, with another score or about the same.
	Moved     []Change `json:"moved"`
	Unchanged []Change `json:"unchanged"`
	// New and Gone are in one of the runs only.
	New  []Change `json:"new"`
	Gone []Change `json:"gone"`
	// Redefined are tests that were not graded alike in both runs (Differences): they are in no pair.
	Redefined []Change `json:"redefined"`
	// GradedOnRetry are errors of the candidate that a repeat graded. They are in one of the other lists, too, with the
	// grade of the repeat.
	GradedOnRetry []Change `json:"graded_on_retry"`
	// Paired covers the tests that were graded alike in both runs.
	Paired Paired `json:"paired"`
	// Detectable is the smallest true difference of the mean score that would have been found with 80 % power; nil
	// where none would. TestsNeeded is how many tests like these would find half of it, or half of the scale where
	// Detectable is nil; nil where no test was graded in both runs.
	Detectable  *float64 `json:"detectable_difference"`
	TestsNeeded *int     `json:"tests_needed"`
	// Verdict is better or worse when the interval of Paired excludes 0, else inconclusive.
	Verdict string `json:"verdict"`
	// Confirmation describes the repeats; nil where none were run.
	Confirmation *Confirmation `json:"confirmation,omitempty"`
}

// SettingDifference is a setting that differs between two runs.
type SettingDifference struct {
	// What is one of the constants.
	What string `json:"what"`
	// Was and Now are the values; empty where there is none, or where they cannot be shown.
	Was string `json:"was"`
	Now string `json:"now"`
	// Tests counts the tests of both runs that it affects; 0 for a setting of the whole run.
	Tests int `json:"tests"`
}

// The settings that SettingDifference.What names.
const (
	DifferentThreshold  = "threshold"
	DifferentStrictness = "strictness"
	DifferentTrials     = "trials"
	DifferentStrategy   = "strategy"
	DifferentJudge      = "judge"
	DifferentUser       = "user"
	DifferentSample     = "sample"
	DifferentFilter     = "filter"
	DifferentTags       = "tags"
	DifferentDefinition = "definition"
)

// Unknown is the value of a setting that a record of an earlier version does not have.
const Unknown = "unknown"

// Confirmation describes the repeats that confirmed or cleared falls.
type Confirmation struct {
	// Falls is how many tests were repeated because they fell, Errors how many because they could not be graded.
	Falls  int `json:"falls"`
	Errors int `json:"errors"`
	// Repeats is how often each fall was repeated at most, Conversations how many were run in all.
	Repeats       int `json:"repeats"`
	Conversations int `json:"conversations"`
	// Default is true where Repeats follows from the number of falls.
	Default bool `json:"default"`
	// Usage and Cost are those of the repeats, which the totals of the run do not have.
	Usage chat.Usage `json:"usage"`
	Cost  chat.Cost  `json:"cost_usd"`
	// Missing explains why a fall has no outcome; empty where every fall has one.
	Missing string `json:"missing,omitempty"`
}

// Lists returns the lists of which every test is in exactly one, in the order in which they matter.
func (c *Comparison) Lists() []*[]Change {
	return []*[]Change{
		&c.Regressed, &c.Unconfirmed, &c.StillFailing, &c.NotGraded, &c.Redefined, &c.WithinNoise, &c.Fixed, &c.Moved,
		&c.New, &c.Gone, &c.Unchanged,
	}
}

// UnmarshalJSON also reads comparisons of earlier versions, which named NotGraded "ungraded".
func (c *Comparison) UnmarshalJSON(data []byte) error {
	type plain Comparison
	wire := struct {
		*plain
		Ungraded []Change `json:"ungraded"`
	}{plain: (*plain)(c)}
	if err := json.Unmarshal(data, &wire); err != nil {
		return err
	}
	if c.NotGraded == nil {
		c.NotGraded = wire.Ungraded
	}
	return nil
}

// Compared is one of the runs of a comparison.
type Compared struct {
	RunID string `json:"run_id"`
	// ExitReason is the run's, ReasonDied of a run that died.
	ExitReason string `json:"exit_reason"`
	Planned    int    `json:"planned"`
	Completed  int    `json:"completed"`
	NotRun     int    `json:"not_run"`
	// Graded counts the tests that passed or failed, without those in quarantine.
	Graded int `json:"graded"`
}

// UnmarshalJSON also reads comparisons of earlier versions, in which Completed had the key "held".
func (c *Compared) UnmarshalJSON(data []byte) error {
	type plain Compared
	known := struct {
		*plain
		Old int `json:"held"`
	}{plain: (*plain)(c)}
	if err := json.Unmarshal(data, &known); err != nil {
		return err
	}
	c.Completed = max(c.Completed, known.Old)
	return nil
}

// ComparedOf returns a run as it stands in a comparison.
func ComparedOf(run Run) Compared {
	t := run.Totals
	return Compared{
		RunID: run.ID, ExitReason: run.ExitReason, Planned: t.Planned, Completed: t.Completed, NotRun: t.NotRun,
		Graded: t.Passed + t.Failed,
	}
}

// Stopped reports whether the run ended, or died, before it had run all that it planned, or is still under way.
func (c Compared) Stopped() bool {
	return (&Run{ExitReason: c.ExitReason, Totals: Totals{NotRun: c.NotRun}}).Stopped()
}

// Paired is the difference of two runs in the mean score of the same tests, candidate minus baseline.
type Paired struct {
	N int `json:"n"`
	// Clusters counts the independent groups of these tests.
	Clusters int `json:"clusters"`
	// ICC is the intraclass correlation of the differences; nil where no cluster has two tests. DesignEffect is the
	// variance of the mean difference over that of independent tests. LargestCluster counts the tests of the largest
	// one.
	ICC            *float64 `json:"icc"`
	DesignEffect   float64  `json:"design_effect"`
	LargestCluster int      `json:"largest_cluster"`
	// MeanDifference is nil when no test was graded in both runs.
	MeanDifference *float64 `json:"mean_difference"`
	// Interval is the 95 % interval; nil where there are too few tests to exclude any difference.
	Interval *[2]float64 `json:"interval"`
}

// Change is one test in two runs.
type Change struct {
	Suite  string `json:"suite"`
	TestID string `json:"test_id"`
	// Target is the candidate's, the baseline's where the candidate lacks the test.
	Target string `json:"target"`
	// Was and Now are the verdicts; NotRun where the run planned the test and did not run it, empty (null in JSON)
	// where it has no such test.
	Was Verdict `json:"was"`
	Now Verdict `json:"now"`
	// WasScore and NowScore are nil where the test was not graded.
	WasScore *float64 `json:"was_score"`
	NowScore *float64 `json:"now_score"`
	// Codes are the failure codes of the candidate.
	Codes []Code `json:"codes"`
	// Required is true where either run requires the test.
	Required bool `json:"required,omitempty"`
	// Differs names the settings of a redefined test that differ (SettingDifference.What).
	Differs []string `json:"differs,omitempty"`
	// Repeats are the verdicts of the repeats, in their order.
	Repeats []Verdict `json:"repeats,omitempty"`
}

// Key returns the key of the candidate's record.
func (c Change) Key() Key { return Key{Suite: c.Suite, TestID: c.TestID, Target: c.Target} }

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
