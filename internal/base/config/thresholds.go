package config

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
	MacroF1     float64 `key:"macro_f1" minimum:"0" maximum:"1"`
	MinClassF1  float64 `key:"min_class_f1" minimum:"0" maximum:"1"`
	SkillRecall float64 `key:"skill_recall" minimum:"0" maximum:"1"`
	// AnswerAccuracy is the share of good answers.
	AnswerAccuracy float64 `key:"answer_accuracy" minimum:"0" maximum:"1"`
}

// Least returns the thresholds of the file, with defaults for those that it does not set.
func (f *File) Least() Thresholds {
	if f.Thresholds != nil {
		return *f.Thresholds
	}
	return Thresholds{
		MacroF1: DefaultMacroF1, MinClassF1: DefaultMinClassF1, SkillRecall: DefaultSkillRecall,
		AnswerAccuracy: DefaultAnswerAccuracy,
	}
}
