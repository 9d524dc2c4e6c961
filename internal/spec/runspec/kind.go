package runspec

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// The kinds of runs: tests of suites, logged sessions in their lanes, labelled items, the next answers of recorded
// conversations.
const (
	KindSuite    = "suite"
	KindReplay   = "replay"
	KindClassify = "classify"
	KindE2E      = "e2e"
)

// kind says what runs of a kind ask for.
type kind struct {
	name string
	// part shows the object of a spec, under the key of the kind's name, that only this kind has; asks reports whether
	// a spec has it. A suite has none.
	part string
	asks func(*Spec) bool
	// without are the keys that say nothing to this kind.
	without []string
	// check refuses what the part cannot mean; nil leaves that to whoever opens the run.
	check func(*Spec) error
}

// kinds are all of them, in the order in which errors list them.
var kinds = []kind{
	{name: KindSuite, asks: func(*Spec) bool { return false }},
	{
		name: KindReplay, part: "{candidate, flow_id, start_date, end_date}",
		asks: func(s *Spec) bool { return s.Replay != nil },
		// What conversations are held so often, spend and leave behind has no meaning for logged sessions.
		without: append(ofSuites("judge", "user", "sample", "threshold", "judge_cache"), "model", "trials", "retries",
			"timeout", "budget", "artifacts"),
	},
	{
		name: KindClassify, part: "{items, target}", asks: func(s *Spec) bool { return s.Classify != nil },
		without: ofSuites("judge", "user", "sample", "threshold", "judge_cache"),
		check:   func(s *Spec) error { return s.Classify.check() },
	},
	{
		name: KindE2E, part: "{items}", asks: func(s *Spec) bool { return s.E2E != nil },
		without: ofSuites("user", "trials"), // the share of good answers is over answers that are each given once
		check:   func(s *Spec) error { return s.E2E.check() },
	},
}

// ofSuites are the keys that have a meaning for suites alone, and more.
func ofSuites(more ...string) []string {
	return append([]string{
		"suites", "targets", "filter", "tags", "attribute_flakes", "baseline", "fail_on", "confirm", "min_overlap",
		"strict", "allow_ungraded",
	}, more...)
}

// keys are those of a spec that some kind has no use for. said reports whether a spec says something by it.
var keys = []struct {
	name string
	said func(*Spec) bool
}{
	{"suites", func(s *Spec) bool { return len(s.Suites) > 0 }},
	{"targets", func(s *Spec) bool { return len(s.Targets) > 0 }},
	{"judge", func(s *Spec) bool { return s.Judge != "" }},
	{"user", func(s *Spec) bool { return s.User != "" }},
	{"filter", func(s *Spec) bool { return len(s.Filter) > 0 }},
	{"tags", func(s *Spec) bool { return len(s.Tags) > 0 }},
	{"sample", func(s *Spec) bool { return s.Sample != 0 }},
	{"threshold", func(s *Spec) bool { return s.Threshold != nil }},
	{"strict", func(s *Spec) bool { return s.Strict }},
	{"allow_ungraded", func(s *Spec) bool { return s.AllowUngraded }},
	{"judge_cache", func(s *Spec) bool { return s.JudgeCache != nil }},
	{"attribute_flakes", func(s *Spec) bool { return s.AttributeFlakes }},
	{"baseline", func(s *Spec) bool { return s.Baseline != "" }},
	{"fail_on", func(s *Spec) bool { return s.FailOn != "" }},
	{"confirm", func(s *Spec) bool { return s.Confirm != 0 }},
	{"min_overlap", func(s *Spec) bool { return s.MinOverlap != nil }},
	{"model", func(s *Spec) bool { return s.Model != "" }},
	{"trials", func(s *Spec) bool { return s.Trials != 0 }},
	{"retries", func(s *Spec) bool { return s.Retries != nil }},
	{"timeout", func(s *Spec) bool { return s.Timeout != 0 }},
	{"budget", func(s *Spec) bool { return s.Budget != nil }},
	{"artifacts", func(s *Spec) bool { return s.Artifacts }},
}

// Classify is what a run of KindClassify asks for: labelled items, and what classifies them.
type Classify struct {
	// Items is a file of labelled items. Target classifies them: a name of the configuration, or a short form.
	Items  string `json:"items"`
	Target string `json:"target"`
	// Thresholds go before those of the configuration.
	Thresholds Thresholds `json:"thresholds,omitzero"`
}

// Thresholds are the least values of metrics from which a classification passes, each from 0 to 1; nil leaves one to
// the configuration.
type Thresholds struct {
	MacroF1    *float64 `json:"macro_f1,omitempty"`
	MinClassF1 *float64 `json:"min_class_f1,omitempty"`
	Recall     *float64 `json:"recall,omitempty"`
	Accuracy   *float64 `json:"accuracy,omitempty"`
}

// Named are the thresholds by the names of their keys.
func (t *Thresholds) Named() map[string]*float64 {
	return map[string]*float64{
		"macro_f1": t.MacroF1, "min_class_f1": t.MinClassF1, "recall": t.Recall, "accuracy": t.Accuracy,
	}
}

// Replay is what a run of KindReplay asks for. Its keys are the flags of rehearse replay run, which say what they mean;
// what is left out is the default of the flag. The log is that of the server's store.
type Replay struct {
	Candidate  string `json:"candidate,omitempty"`
	Baseline   string `json:"baseline,omitempty"`
	VariantID  string `json:"variant_id,omitempty"`
	BaselineID string `json:"baseline_variant_id,omitempty"`
	FlowID     string `json:"flow_id"`
	StartDate  string `json:"start_date"`
	EndDate    string `json:"end_date"`
	// Timezone is that of the days; empty means UTC.
	Timezone   string    `json:"timezone,omitempty"`
	SessionGap *Duration `json:"session_gap,omitempty"`
	SampleSize int       `json:"sample_size,omitempty"`
	MinTurns   *int      `json:"min_turns,omitempty"`
	Mode       string    `json:"mode,omitempty"`
	Gate       string    `json:"gate,omitempty"`
	Require    string    `json:"require,omitempty"`
	// Margin has entries METRIC=VALUE.
	Margin      []string `json:"margin,omitempty"`
	MinSupport  *float64 `json:"min_support,omitempty"`
	MinPower    *float64 `json:"min_power,omitempty"`
	MaxLost     *float64 `json:"max_lost,omitempty"`
	MinFidelity *float64 `json:"min_fidelity,omitempty"`
	Cluster     string   `json:"cluster,omitempty"`
	AA          bool     `json:"aa,omitempty"`
	States      string   `json:"states,omitempty"`
	Repeats     *int     `json:"repeats,omitempty"`
	User        string   `json:"user,omitempty"`
	// Assert is a file of assertions in the bundle.
	Assert string `json:"assert,omitempty"`
	// MaxExtraTurns bounds the turns of the simulated user beyond as many as the log has.
	MaxExtraTurns *int `json:"max_extra_turns,omitempty"`
	// Judge compares the replies of both agents. Slice names fields whose slices are guards.
	Judge string   `json:"judge,omitempty"`
	Slice []string `json:"slice,omitempty"`
	// Flows and Prompts are folders of the bundle.
	Flows       string    `json:"flows,omitempty"`
	Prompts     string    `json:"prompts,omitempty"`
	TurnTimeout *Duration `json:"turn_timeout,omitempty"`
	Slow        *Duration `json:"slow,omitempty"`
	// Interim is set by servers only.
	Interim *Interim `json:"look,omitempty"`
}

// E2E is what a run of KindE2E asks for: recorded conversations whose next answer is graded. Its keys are the flags of
// rehearse e2e.
type E2E struct {
	// Items is a file of recorded conversations. Item takes only the first of them whose query or id holds it.
	Items string `json:"items"`
	Item  string `json:"item,omitempty"`
	// Sites is a folder of sites, or the file of one; empty means those of the configuration's targets. Prompts is the
	// folder of their prompts.
	Sites   string `json:"sites,omitempty"`
	Prompts string `json:"prompts,omitempty"`
	// Site is the site of all items; empty means the one that each item names, or the only one.
	Site string `json:"site,omitempty"`
	// Accuracy is the least share of good answers; nil leaves it to the configuration.
	Accuracy *float64 `json:"accuracy,omitempty"`
}

// NoJudge as the judge of a run of KindE2E leaves the grading to assertions.
const NoJudge = "none"

// checkKind refuses what has no meaning for the kind of the run, and what the kind lacks.
func (s *Spec) checkKind() error {
	name := cmp.Or(s.Kind, KindSuite)
	at := slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })
	if at < 0 {
		return source.Invalid("run spec: kind %q is unknown: use %s", s.Kind, strings.Join(kindNames(), ", "))
	}
	own := &kinds[at]
	if own.part != "" && !own.asks(s) {
		return source.Invalid("run spec: a run of the kind %s needs `%s`: %s", name, name, own.part)
	}
	for _, other := range kinds {
		if other.name != name && other.asks(s) {
			return source.Invalid("run spec: `%s` is for runs of that kind: add \"kind\": %q, or leave it out",
				other.name, other.name)
		}
	}
	for _, key := range keys {
		if slices.Contains(own.without, key.name) && key.said(s) {
			return source.Invalid("run spec: `%s` has no meaning for the kind %s: leave it out", key.name, name)
		}
	}
	if own.check == nil {
		return nil
	}
	return own.check(s)
}

func kindNames() (names []string) {
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return names
}

func (e *E2E) check() error {
	switch {
	case e.Items == "":
		return source.Invalid("run spec: e2e: items is missing: name a file of recorded conversations")
	case e.Accuracy != nil && !(*e.Accuracy >= 0 && *e.Accuracy <= 1): // also what is no number
		return source.Invalid("run spec: e2e: accuracy %g is out of range: use a share between 0 and 1", *e.Accuracy)
	}
	return nil
}

func (c *Classify) check() error {
	switch {
	case c.Items == "":
		return source.Invalid("run spec: classify: items is missing: name a file of labelled items")
	case c.Target == "":
		return source.Invalid("run spec: classify: target is missing: name what classifies the items")
	}
	for name, least := range c.Thresholds.Named() {
		if least != nil && !(*least >= 0 && *least <= 1) { // also what is no number
			return source.Invalid("run spec: classify: thresholds: %s %g is out of range: use a number between 0 and 1",
				name, *least)
		}
	}
	return nil
}
