package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/base/config"
)

func TestThresholds(t *testing.T) {
	for yaml, want := range map[string]config.Thresholds{
		"":               {MacroF1: 0.80, MinClassF1: 0.60, SkillRecall: 0.90, AnswerAccuracy: 0.70},
		"thresholds: {}": {MacroF1: 0.80, MinClassF1: 0.60, SkillRecall: 0.90, AnswerAccuracy: 0.70},
		"thresholds: {macro_f1: 0.5, answer_accuracy: 0}": {
			MacroF1: 0.5, MinClassF1: 0.60, SkillRecall: 0.90,
		},
		"thresholds: {macro_f1: 1, min_class_f1: 0.1, skill_recall: 0.2, answer_accuracy: 0.305}": {
			MacroF1: 1, MinClassF1: 0.1, SkillRecall: 0.2, AnswerAccuracy: 0.305,
		},
	} {
		f, err := load(t, yaml)
		if d := cmp.Diff(want, f.Least()); d != "" || err != nil {
			t.Errorf("%q: error %v, thresholds (-want +got):\n%s", yaml, err, d)
		}
	}
	for yaml, want := range map[string]string{
		"thresholds: {macro_f2: 0.8}":     `thresholds.macro_f2: unknown key "macro_f2" (did you mean "macro_f1"?)`,
		"thresholds: {skill_recall: 90}":  "thresholds.skill_recall: 90 is out of range",
		"thresholds: {min_class_f1: low}": "thresholds.min_class_f1: ",
		"thresholds: 0.8":                 "thresholds: expected a mapping",
	} {
		if _, err := load(t, yaml); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Load(%q) = %v, want %q", yaml, err, want)
		}
	}
}
