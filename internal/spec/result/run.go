package result

import (
	"encoding/json"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/spec/quarantine"
)

// Totals counts a run's tests, each once for every target. A test with trials counts once.
type Totals struct {
	// Planned is the run's plan: Completed + Skipped + NotRun. A test that was not run may have records of some trials.
	Planned int `json:"planned"`
	// Completed is Passed + Failed + Errors + Ungraded + Quarantined.
	Completed int `json:"completed"`
	Skipped   int `json:"skipped"`
	NotRun    int `json:"not_run"`
	Passed    int `json:"passed"`
	// PassedWithFailures counts the tests among Passed in which a check or a trial failed.
	PassedWithFailures int `json:"passed_with_failures"`
	Failed             int `json:"failed"`
	Errors             int `json:"errors"`
	// Ungraded counts tests that grade nothing. They are in no rate.
	Ungraded int `json:"ungraded"`
	// UserInvalid counts the tests among Skipped that their simulated users spoiled. They are in no rate.
	UserInvalid int `json:"user_invalid"`
	// Quarantined were run, and count neither as passed nor as failed.
	Quarantined int `json:"quarantined,omitempty"`
	// Tests counts the records: Completed + Skipped.
	Tests         int `json:"tests"`
	Conversations int `json:"conversations"`
	Turns         int `json:"turns"`
	// MeanScore is over the tests that were graded; nil when there is none, when more than MaxUnknown of the tests are
	// unknown, and over several targets. MeanScoreBounds are the means if each unknown test had scored 0, and 1; nil
	// when there is no test to count.
	MeanScore       *float64    `json:"mean_score"`
	MeanScoreBounds *[2]float64 `json:"mean_score_bounds"`
	Usage           chat.Usage  `json:"usage"`
	Cost            chat.Cost   `json:"cost_usd"`
	Judge           JudgeUse    `json:"judge"`
	// User is there when a test has a simulated user. Neither Usage nor Cost has its part in it.
	User *UserTotals `json:"user,omitempty"`
	// Failures counts failure codes over all tests.
	Failures map[Code]int `json:"failures,omitempty"`
}

// UnmarshalJSON also reads the totals of earlier versions, in which Completed had the key "held".
func (t *Totals) UnmarshalJSON(data []byte) error {
	type plain Totals
	known := struct {
		*plain
		Old int `json:"held"`
	}{plain: (*plain)(t)}
	if err := json.Unmarshal(data, &known); err != nil {
		return err
	}
	t.Completed = max(t.Completed, known.Old)
	return nil
}

// GroupResult is what a run found about some of its tests, such as those with a tag.
type GroupResult struct {
	Totals Totals `json:"totals"`
	PassRate
}

// TargetResult is what a run found about the tests with one of several targets.
type TargetResult struct {
	GroupResult
	ByTag map[string]GroupResult `json:"by_tag,omitempty"`
}

// The reasons why a run ended; ReasonRunning stands until it has.
const (
	ReasonRunning     = "running"
	ReasonPassed      = "passed"
	ReasonFailed      = "failed"
	ReasonErrors      = "errors"
	ReasonBudget      = "budget"
	ReasonInterrupted = "interrupted"
	ReasonAborted     = "aborted"
)

// ReasonDied is the reason of a run that nobody holds any more though its record says ReasonRunning. No record has it.
const ReasonDied = "died"

// Run is the record of a whole run, written as run.json.
type Run struct {
	Schema  int    `json:"schema"`
	ID      string `json:"run_id"`
	Version string `json:"version"`
	// Commit is the revision that the program was built from, with "+dirty" behind it where files had been changed;
	// "unknown" without a stamp.
	Commit string `json:"commit"`
	// Fingerprint is a hash of everything that decides the records.
	Fingerprint string `json:"fingerprint,omitempty"`
	// Command is the command line without secrets.
	Command []string `json:"command"`
	Suites  []string `json:"suites"`
	Targets []string `json:"targets"`
	Judge   string   `json:"judge,omitempty"`
	// Addresses are those that the run can ask, Prices those of the models that it can ask.
	Addresses  Addresses `json:"addresses,omitzero"`
	Prices     Prices    `json:"prices,omitzero"`
	Config     any       `json:"config,omitempty"`
	StartedAt  time.Time `json:"started_at"`
	EndedAt    time.Time `json:"ended_at,omitzero"`
	DurationMS float64   `json:"duration_ms"`
	Totals     Totals    `json:"totals"`
	// ByTarget is there when the run has several targets. A rate over different systems says nothing: PassRate and
	// Interval are nil then.
	ByTarget map[string]TargetResult `json:"by_target,omitempty"`
	PassRate
	// ByTag has the rates of the tests with each tag; with several targets they are in ByTarget.
	ByTag map[string]GroupResult `json:"by_tag,omitempty"`
	// Trials is there when tests were run more than once, all of their trials and with one target.
	Trials *TrialTotals `json:"trials,omitempty"`
	// RegradedFrom is the id of the run whose conversations were graded again; empty for a run that held its own.
	RegradedFrom string `json:"regraded_from,omitempty"`
	// Comparison is with the baseline, where one was named.
	Comparison *Comparison `json:"comparison,omitempty"`
	// NotRun names tests of a stopped run that were not run, at most MaxNotRun of them; Totals counts all.
	NotRun []Key `json:"not_run,omitempty"`
	// LeftOut names tests that have records and belong to the run no longer: they left the suite, or their target is no
	// longer asked for. They count nowhere. Of a run that was graded again they are the tests that left the suite,
	// which this run has no records of.
	LeftOut []Key `json:"left_out,omitempty"`
	// RanOut are quarantines that have run out: their tests count again. Each test stands here once.
	RanOut   []RanOut `json:"quarantine_ran_out,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	// ExitReason is one of the constants; ExitMessage says in a sentence why a run stopped.
	ExitReason  string `json:"exit_reason"`
	ExitMessage string `json:"exit_message,omitempty"`
	// ExitCode is nil while the run goes on.
	ExitCode *int `json:"exit_code"`
}

// RanOut is a test whose quarantine has run out.
type RanOut struct {
	Suite  string `json:"suite"`
	TestID string `json:"test_id"`
	quarantine.Terms
}

// MaxNotRun bounds the names in Run.NotRun.
const MaxNotRun = 10_000

// Code returns the run's exit code; a run that has none yet did not finish.
func (r *Run) Code() int {
	if r.ExitCode == nil {
		return ExitNotRun
	}
	return *r.ExitCode
}

// Ended notes how the run ended.
func (r *Run) Ended(code int, reason string) { r.ExitCode, r.ExitReason = &code, reason }

// Stopped reports whether the run ended, or died, before it had held all that it set out to hold.
func (r *Run) Stopped() bool {
	switch r.ExitReason {
	case ReasonRunning, ReasonDied, ReasonBudget, ReasonInterrupted, ReasonAborted:
		return true
	}
	return r.Totals.NotRun > 0
}

// Count fills in totals and rates from the records; planned is the plan's number of tests with each target. A run
// without a plan is taken to have planned the tests that it has records of.
func (r *Run) Count(records *Tallies, planned map[string]int) {
	sum := 0
	for _, n := range planned {
		sum += n
	}
	r.ByTarget, r.ByTag, r.Trials = nil, nil, nil
	if names := records.targets(planned); len(names) > 1 {
		r.Totals, r.PassRate = records.all.summary(sum)
		r.PassRate, r.Totals.MeanScore, r.Totals.MeanScoreBounds = PassRate{}, nil, nil
		r.ByTarget = make(map[string]TargetResult, len(names))
		for _, name := range names {
			tally := &Tally{}
			if records.each[name] != nil {
				tally = records.each[name]
			}
			of := TargetResult{ByTag: tally.byTag()}
			of.Totals, of.PassRate = tally.summary(planned[name])
			r.ByTarget[name] = of
		}
		return
	}
	r.Totals, r.PassRate = records.all.summary(sum)
	r.ByTag, r.Trials = records.all.byTag(), records.all.trials()
}

// Planned returns what the run set out to hold with each target.
func (r *Run) Planned() map[string]int {
	planned := map[string]int{}
	for name, of := range r.ByTarget {
		planned[name] = of.Totals.Planned
	}
	if len(planned) == 0 && len(r.Targets) > 0 {
		planned[r.Targets[0]] = r.Totals.Planned
	}
	return planned
}
