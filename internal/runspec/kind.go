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

// checkKind refuses what has no meaning for the kind of the run, and what the kind lacks.
func (s *Spec) checkKind() error {
	switch {
	case s.Kind != "" && !slices.Contains(Kinds, s.Kind):
		return source.Invalid("run spec: kind %q is unknown: use %s", s.Kind, strings.Join(Kinds, ", "))
	case s.Kind == KindReplay:
		return source.Invalid("run spec: kind replay cannot be run here: use suite or classify")
	case s.Kind == KindClassify && s.Classify == nil:
		return source.Invalid("run spec: a run of the kind classify needs `classify`: {items, target}")
	case s.Kind != KindClassify && s.Classify != nil:
		return source.Invalid("run spec: `classify` is for runs of that kind: add \"kind\": \"classify\", or leave it out")
	case s.Kind != KindClassify:
		return nil
	}
	if key := s.ofSuites(); key != "" {
		return source.Invalid("run spec: `%s` is for runs of suites: leave it out of a run of the kind %s", key, s.Kind)
	}
	return s.Classify.check()
}

// ofSuites returns the first key that only runs of suites have; empty when there is none.
func (s *Spec) ofSuites() string {
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
