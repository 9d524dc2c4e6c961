package runspec

import (
	"slices"
	"strings"

	"rehearse/internal/source"
)

// The kinds of runs: tests of suites, logged sessions in their lanes, labelled items.
const (
	KindSuite    = "suite"
	KindReplay   = "replay"
	KindClassify = "classify"
)

// Kinds lists the kinds.
var Kinds = []string{KindSuite, KindReplay, KindClassify}

// Classify is what a run of KindClassify asks for: labelled items, and what classifies them.
type Classify struct {
	// Items is a file of labelled items. Target classifies them: a name of the configuration, or a short form.
	Items  string `json:"items"`
	Target string `json:"target"`
	// Thresholds go before those of the configuration.
	Thresholds Thresholds `json:"thresholds,omitzero"`
}

// Thresholds are the least values of metrics from which a classification passes, each from 0 to 1; nil leaves one to the configuration.
type Thresholds struct {
	MacroF1    *float64 `json:"macro_f1,omitempty"`
	MinClassF1 *float64 `json:"min_class_f1,omitempty"`
	Recall     *float64 `json:"recall,omitempty"`
	Accuracy   *float64 `json:"accuracy,omitempty"`
}

// Named are the thresholds by the names of their keys.
func (t *Thresholds) Named() map[string]*float64 {
	return map[string]*float64{"macro_f1": t.MacroF1, "min_class_f1": t.MinClassF1, "recall": t.Recall, "accuracy": t.Accuracy}
}

// Replay is what a run of KindReplay asks for. Its keys are the flags of rehearse replay run, which say what they mean; what is left out is the
// default of the flag. The log is that of the server's store.
type Replay struct {
	Candidate  string `json:"candidate,omitempty"`
	Baseline   string `json:"baseline,omitempty"`
	VariantID  string `json:"variant_id,omitempty"`
	BaselineID string `json:"baseline_variant_id,omitempty"`
	FlowID     string `json:"flow_id"`
	StartDate  string `json:"start_date"`
	EndDate    string `json:"end_date"`
	SampleSize int    `json:"sample_size,omitempty"`
	MinTurns   *int   `json:"min_turns,omitempty"`
	Mode       string `json:"mode,omitempty"`
	Gate       string `json:"gate,omitempty"`
	Require    string `json:"require,omitempty"`
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
	// Flows and Prompts are folders of the bundle.
	Flows       string    `json:"flows,omitempty"`
	Prompts     string    `json:"prompts,omitempty"`
	TurnTimeout *Duration `json:"turn_timeout,omitempty"`
	// Look is set by servers alone.
	Look *Look `json:"look,omitempty"`
}

// checkKind refuses what has no meaning for the kind of the run, and what the kind lacks.
func (s *Spec) checkKind() error {
	switch {
	case s.Kind != "" && !slices.Contains(Kinds, s.Kind):
		return source.Invalid("run spec: kind %q is unknown: use %s", s.Kind, strings.Join(Kinds, ", "))
	case s.Kind == KindClassify && s.Classify == nil:
		return source.Invalid("run spec: a run of the kind classify needs `classify`: {items, target}")
	case s.Kind == KindReplay && s.Replay == nil:
		return source.Invalid("run spec: a run of the kind replay needs `replay`: {candidate, flow_id, start_date, end_date}")
	case s.Kind != KindClassify && s.Classify != nil:
		return source.Invalid("run spec: `classify` is for runs of that kind: add \"kind\": \"classify\", or leave it out")
	case s.Kind != KindReplay && s.Replay != nil:
		return source.Invalid("run spec: `replay` is for runs of that kind: add \"kind\": \"replay\", or leave it out")
	case s.Kind == "" || s.Kind == KindSuite:
		return nil
	}
	if key := s.meaningless(); key != "" {
		return source.Invalid("run spec: `%s` has no meaning for the kind %s: leave it out", key, s.Kind)
	}
	if s.Kind == KindReplay {
		return nil // whoever opens it checks the rest, as for the flags
	}
	return s.Classify.check()
}

// meaningless returns the first key that says something which the kind of the run has no use for; empty when there is none.
func (s *Spec) meaningless() string {
	for _, key := range []struct {
		name  string
		given bool
	}{
		{"suites", len(s.Suites) > 0},
		{"targets", len(s.Targets) > 0},
		{"judge", s.Judge != ""},
		{"user", s.User != ""},
		{"filter", len(s.Filter) > 0},
		{"tags", len(s.Tags) > 0},
		{"sample", s.Sample != 0},
		{"threshold", s.Threshold != nil},
		{"judge_cache", s.JudgeCache != nil},
		{"attribute_flakes", s.AttributeFlakes},
		{"baseline", s.Baseline != ""},
		// What conversations are held so often, spend and leave behind has a meaning for items, and none for logged sessions.
		{"model", s.Kind == KindReplay && s.Model != ""},
		{"trials", s.Kind == KindReplay && s.Trials != 0},
		{"retries", s.Kind == KindReplay && s.Retries != nil},
		{"timeout", s.Kind == KindReplay && s.Timeout != 0},
		{"budget", s.Kind == KindReplay && s.Budget != nil},
		{"artifacts", s.Kind == KindReplay && s.Artifacts},
	} {
		if key.given {
			return key.name
		}
	}
	return ""
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
			return source.Invalid("run spec: classify: thresholds: %s %g is out of range: use a number between 0 and 1", name, *least)
		}
	}
	return nil
}
