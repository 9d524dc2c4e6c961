package replay

import (
	"math"

	"github.com/rehearse-dev/rehearse/internal/base/stats"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// The gates.
const (
	// GateSpec is S4's: means are compared as they are, 70 % of the metrics have to be good enough, and completion
	// match has to reach 80 %.
	GateSpec = "spec"
	// GatePaired looks at each session in both lanes and at how much chance there is in it.
	GatePaired = "paired"
)

// Gates lists the gates.
var Gates = []string{GatePaired, GateSpec}

// Requirement is the least that a candidate needs to pass the paired gate.
type Requirement string

// The requirements.
const (
	NotWorse Requirement = "not_worse" // nothing is known to be worse
	// it is known of every metric that decides that what is lost is within its margin
	NonInferior Requirement = "non_inferior"
	Better      Requirement = "better" // non_inferior, and the candidate is better
)

// Requirements lists the requirements.
var Requirements = []Requirement{NotWorse, NonInferior, Better}

// Decision is what a gate came to. Headline, tables, the stored row and the exit code follow from it.
type Decision string

// The decisions.
const (
	Passed       Decision = "passed"
	NotPassed    Decision = "not_passed"
	Underpowered Decision = "cannot_say"    // too few sessions to have seen a loss that matters
	NotJudgeable Decision = "not_judgeable" // the log does not fit the agents
)

// ExitCode is the program's.
func (d Decision) ExitCode() int {
	switch d {
	case Passed:
		return result.ExitPassed
	case Underpowered:
		return ExitUnderpowered
	case NotJudgeable:
		return ExitNotJudgeable
	}
	return result.ExitFailed
}

// Exit codes that only a replay has.
const (
	ExitUnderpowered = 4
	ExitNotJudgeable = 5
)

// VerdictNotJudgeable is the verdict of a run whose log does not fit the agents, beside those of stats.
const VerdictNotJudgeable stats.Verdict = "not_judgeable"

// Gate is what the gate of a run came to, and why.
type Gate struct {
	Name     string        `json:"name"`
	Outcome  Decision      `json:"outcome"`
	ExitCode int           `json:"exit_code"`
	Verdict  stats.Verdict `json:"verdict"`
	// Headline is one line that begins with the outcome.
	Headline string   `json:"headline"`
	Reasons  []Reason `json:"reasons"`

	Require    Requirement `json:"require"`
	MinPower   float64     `json:"min_power"`
	MinSupport float64     `json:"min_support"`
	MaxLost    float64     `json:"max_lost"`
	// Support is the mean support coverage of each lane, nil where it is not known.
	Support map[string]*float64 `json:"support"`
	// Unseen is, for each metric that decides and applies, the loss that could have gone unnoticed.
	Unseen map[string]Unseen `json:"unseen"`
	// FalseAlarm bounds the probability that the gate finds a candidate that equals the baseline worse or better.
	FalseAlarm FalseAlarm `json:"false_alarm"`
}

// Reason is why a gate came out as it did.
type Reason struct {
	// Code is worse, lost_pairs, support, fidelity, power, not_shown or spec. Metric is empty where it is about no
	// single one.
	Code   string `json:"code"`
	Metric string `json:"metric,omitempty"`
	Text   string `json:"text"`
}

// Unseen is the smallest true loss of a metric that would have been found with the probability that was asked for, nil
// when none would, and the loss that does not matter; both in the metric's unit, shares from 0 to 1.
type Unseen struct {
	Loss   *float64 `json:"loss"`
	Margin float64  `json:"margin"`
}

// FalseAlarm holds probabilities: 2.5 % for each metric that varies, and 5 %.
type FalseAlarm struct {
	Worse  float64 `json:"worse"`
	Better float64 `json:"better"`
}

// Lost counts the pairs in which a lane failed, and their share of all pairs.
type Lost struct {
	Baseline  int     `json:"baseline"`
	Candidate int     `json:"candidate"`
	Both      int     `json:"both"`
	Share     float64 `json:"share"`
}

func (l Lost) pairs() int { return l.Baseline + l.Candidate + l.Both }

// compared is a metric with the difference between the lanes.
type compared struct {
	*metric
	stats.Difference
	// marginSize is the margin in the metric's unit.
	marginSize float64
}

// harmless reports whether the loss is known to be within the margin.
func (c *compared) harmless() bool {
	return c.Verdict == stats.Better || c.Verdict == stats.NonInferior
}

// findings are what the paired gate decides by.
type findings struct {
	metrics []compared // those that decide and apply
	guards  []compared
	// losable is the share of sessions that the baseline completes as the log did: completion match can lose no more.
	losable float64
	// completable is the share of sessions that the log completes.
	completable float64
	// concealed are the metrics that are known of the baseline and not of the candidate, which can lose nothing there.
	concealed []concealment
	// heard says of each lane how many of its states its words bear out.
	heard map[string]hearing
	// rescued counts the dropped sessions that only the candidate completes, where completion match falls by nothing
	// else; else it is 0. newlyLost are the ids of those that only the baseline completes.
	rescued   int
	newlyLost []string
	// censored counts the sessions of each lane that wait for an answer which the log does not have, open those in
	// which the candidate may have lost by that.
	censored map[string]int
	open     int
	// slices are those of the sessions, openSlices why guards among them cannot be judged.
	slices     []Slice
	openSlices []Reason
	// preferences are the judge's.
	preferences Preferences
	// together is the verdict over the metrics.
	together stats.Verdict
	lost     Lost
	compared int
	support  map[string]*float64
	fidelity *Fidelity
	mode     Mode
}

// judge applies the first rule that matches.
func (f *findings) judge(rules *Rules) Gate {
	g := Gate{
		Name: GatePaired, Verdict: f.verdict(), Require: rules.Require, MinPower: rules.MinPower,
		MinSupport: rules.MinSupport, MaxLost: rules.MaxLost, Support: f.support, Unseen: f.unseen(),
		FalseAlarm: f.falseAlarm(),
	}
	unfit := f.unfit(rules)
	if len(unfit) > 0 && g.Verdict != stats.Worse {
		g.Verdict = VerdictNotJudgeable
	}
	good := g.Verdict == stats.Better || g.Verdict == stats.NonInferior && len(f.censored) > 0
	if good && len(f.untold(rules)) > 0 { // the rest is not known
		g.Verdict = stats.Inconclusive
	}
	for _, step := range []struct {
		outcome Decision
		reasons []Reason
	}{
		{NotPassed, append(f.worse(), f.lostPairs(rules)...)},
		{NotJudgeable, unfit},
		{Underpowered, f.blind(rules)},
		{NotPassed, f.notShown(rules, g.Verdict)},
		{Passed, nil},
	} {
		if len(step.reasons) > 0 || step.outcome == Passed {
			g.Outcome, g.Reasons = step.outcome, step.reasons
			break
		}
	}
	if g.Reasons == nil {
		g.Reasons = []Reason{}
	}
	g.ExitCode = g.Outcome.ExitCode()
	g.Headline = f.headline(&g)
	return g
}

// verdict is that of the run: harm in any metric or guard, else what the metrics that decide say together.
func (f *findings) verdict() stats.Verdict {
	for i := range f.guards {
		if f.guards[i].Verdict == stats.Worse {
			return stats.Worse
		}
	}
	for i := range f.slices {
		for _, d := range f.slices[i].Metrics {
			if d.Verdict == string(stats.Worse) {
				return stats.Worse
			}
		}
	}
	return f.together
}

func (f *findings) unseen() map[string]Unseen {
	unseen := map[string]Unseen{}
	for i := range f.metrics {
		c := &f.metrics[i]
		unseen[c.name] = Unseen{finite(c.Detectable), c.marginSize}
	}
	return unseen
}

// falseAlarm bounds the false alarms. What does not vary raises none.
func (f *findings) falseAlarm() FalseAlarm {
	a := FalseAlarm{Better: 1 - stats.Confidence}
	for _, list := range [][]compared{f.metrics, f.guards} {
		for i := range list {
			if list[i].Varies {
				a.Worse += (1 - stats.Confidence) / 2
			}
		}
	}
	for i := range f.slices { // corrected, so that all of them together raise no more than one metric does
		if f.slices[i].Guard {
			a.Worse += (1 - stats.Confidence) / 2
			break
		}
	}
	a.Worse = min(math.Round(1000*a.Worse)/1000, 1)
	return a
}
