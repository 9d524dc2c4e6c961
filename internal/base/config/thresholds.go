package config

import "github.com/rehearse-dev/rehearse/internal/base/source"

// The default thresholds of an evaluation.
const (
	DefaultMacroF1        = 0.80
	DefaultMinClassF1     = 0.60
	DefaultSkillRecall    = 0.90
	DefaultAnswerAccuracy = 0.70
)

// Thresholds are the least scores from which an evaluation passes, each from 0 to 1.
type Thresholds struct {
	// MacroF1 and MinClassF1 apply to classifiers with one label, SkillRecall to those with any number of labels.
	MacroF1, MinClassF1, SkillRecall float64
	// AnswerAccuracy is the share of good answers.
	AnswerAccuracy float64
}

// Least returns the thresholds of the file, with defaults for those that it does not set.
func (f *File) Least() Thresholds {
	if f.Thresholds != nil {
		return *f.Thresholds
	}
	return Thresholds{MacroF1: DefaultMacroF1, MinClassF1: DefaultMinClassF1, SkillRecall: DefaultSkillRecall, AnswerAccuracy: DefaultAnswerAccuracy}
}

func readThresholds(n source.Node) *Thresholds {
	t := (&File{}).Least()
	share := func(to *float64) func(source.Node) { return func(n source.Node) { *to = n.Number(0, 1) } }
	n.Read(map[string]func(source.Node){
		"macro_f1":        share(&t.MacroF1),
		"min_class_f1":    share(&t.MinClassF1),
		"skill_recall":    share(&t.SkillRecall),
		"answer_accuracy": share(&t.AnswerAccuracy),
	})
	return &t
}
