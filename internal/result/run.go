package result

import (
	"slices"
	"time"

	"rehearse/internal/chat"
	"rehearse/internal/quarantine"
	"rehearse/internal/stats"
)

// Totals counts a run's tests, each once for every target. A test with trials counts once.
type Totals struct {
	// Planned is what the run set out to hold: Held + Skipped + NotRun. Of a test that is not run, some trials may have been held.
	Planned int `json:"planned"`
	// Held is Passed + Failed + Errors + Quarantined.
	Held    int `json:"held"`
	Skipped int `json:"skipped"`
	NotRun  int `json:"not_run"`
	Passed  int `json:"passed"`
	Failed  int `json:"failed"`
	Errors  int `json:"errors"`
	// Quarantined were held, and count neither as passed nor as failed.
	Quarantined int `json:"quarantined,omitempty"`
	// Tests counts the records: Held + Skipped.
	Tests         int `json:"tests"`
	Conversations int `json:"conversations"`
	Turns         int `json:"turns"`
	// MeanScore is over the tests that could be graded; nil when there is none, and over several targets.
	MeanScore *float64   `json:"mean_score"`
	Usage     chat.Usage `json:"usage"`
	Cost      chat.Cost  `json:"cost_usd"`
	Judge     JudgeUse   `json:"judge"`
	// User is there when a test has a simulated user. Neither Usage nor Cost has its part in it.
	User *UserTotals `json:"user,omitempty"`
	// Failures counts failure codes over all tests.
	Failures map[Code]int `json:"failures,omitempty"`
}

// plan completes totals by what was planned.
func (t *Totals) plan(planned int) {
	t.Planned = max(planned, t.Held+t.Skipped)
	t.NotRun = t.Planned - t.Held - t.Skipped
}

// rate returns the share of the graded tests that passed with its 95 % Wilson interval; nil when none was graded.
func (t *Totals) rate() (*float64, *[2]float64) {
	n := t.Passed + t.Failed
	if n == 0 {
		return nil, nil
	}
	return new(float64(t.Passed) / float64(n)), new(stats.Wilson(t.Passed, n))
}

// TargetResult is what a run found about one of several targets.
type TargetResult struct {
	Totals   Totals      `json:"totals"`
	PassRate *float64    `json:"pass_rate"`
	Interval *[2]float64 `json:"pass_rate_interval"`
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
	// Commit is the revision that the program was built from, with "+dirty" behind it where files had been changed; "unknown" without a stamp.
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
	// ByTarget is there when the run has several targets. A rate over different systems says nothing: PassRate and Interval are nil then.
	ByTarget map[string]TargetResult `json:"by_target,omitempty"`
	// PassRate and Interval (95 %, Wilson) are over the tests that could be graded; nil when there is none.
	PassRate *float64    `json:"pass_rate"`
	Interval *[2]float64 `json:"pass_rate_interval"`
	// RegradedFrom is the id of the run whose conversations were graded again; empty for a run that held its own.
	RegradedFrom string `json:"regraded_from,omitempty"`
	// Comparison is with the baseline, where one was named.
	Comparison *Comparison `json:"comparison,omitempty"`
	// NotRun names tests of a stopped run that were not run, at most MaxNotRun of them; Totals counts all.
	NotRun []Key `json:"not_run,omitempty"`
	// LeftOut names tests that have records and belong to the run no longer: they left the suite, or their target is no longer asked for.
	// They count nowhere. Of a run that was graded again they are the tests that left the suite, which this run has no records of.
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

// Count fills in totals and rates from the records; planned is what the run set out to hold with each target. What a run without a plan set out
// to hold is what it held.
func (r *Run) Count(records *Tallies, planned map[string]int) {
	all, sum := records.Totals(), 0
	for _, n := range planned {
		sum += n
	}
	all.plan(sum)
	r.PassRate, r.Interval = all.rate()
	r.ByTarget = nil
	if names := records.targets(planned); len(names) > 1 {
		r.ByTarget = make(map[string]TargetResult, len(names))
		for _, name := range names {
			of := TargetResult{Totals: records.Of(name)}
			of.Totals.plan(planned[name])
			of.PassRate, of.Interval = of.Totals.rate()
			r.ByTarget[name] = of
		}
		r.PassRate, r.Interval, all.MeanScore = nil, nil, nil
	}
	r.Totals = all
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

// targets returns the targets of the records and of the plan, in order.
func (y *Tallies) targets(planned map[string]int) []string {
	var names []string
	for name := range planned {
		names = append(names, name)
	}
	for name := range y.each {
		if _, ok := planned[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
