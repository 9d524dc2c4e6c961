package evaluation

import (
	"iter"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/base/stats"
	"github.com/rehearse-dev/rehearse/internal/data/dataset"
	"github.com/rehearse-dev/rehearse/internal/eval/grader"
	"github.com/rehearse-dev/rehearse/internal/run/runlog"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Answers say how good the answers of a run are. What could not be graded does not count.
type Answers struct {
	Good, Graded int
	// Dimensions are the mean scores by grader.Dimensions, between 0 and 1; nil where no answer was scored.
	Dimensions map[string]float64
	// Unclear is what the histories of the answers' items do not tell for sure, as their records have it.
	Unclear dataset.Unclear
}

// ReadAnswers reads the answers of a run from the records in its folder.
func ReadAnswers(dir string) (Answers, error) {
	var a Answers
	sums, scored := map[string]float64{}, 0
	for t, err := range runlog.Read(dir) {
		if err != nil {
			return a, err
		}
		a.Unclear.Add(dataset.WarningsOf(t.Metadata))
		if t.Verdict != result.Pass && t.Verdict != result.Fail {
			continue
		}
		a.Graded++
		if t.Verdict == result.Pass {
			a.Good++
		}
		any := false
		for dimension, score := range dimensionScores(t) {
			sums[dimension] += score
			any = true
		}
		if any {
			scored++
		}
	}
	if scored > 0 {
		a.Dimensions = map[string]float64{}
		for dimension, sum := range sums {
			a.Dimensions[dimension] = sum / float64(scored)
		}
	}
	return a, nil
}

// dimensionScores yields the scores of an answer by dimension, as a judge gave them.
func dimensionScores(t *result.Test) iter.Seq2[string, float64] {
	names := grader.Dimensions()
	return func(yield func(string, float64) bool) {
		for _, score := range t.Scores {
			for _, a := range score.Assertions {
				if a.Score != nil && slices.Contains(names, a.Text) && !yield(a.Text, *a.Score) {
					return
				}
			}
		}
	}
}

// Share returns the share of good answers; 0 where none was graded.
func (a Answers) Share() float64 {
	if a.Graded == 0 {
		return 0
	}
	return float64(a.Good) / float64(a.Graded)
}

// Interval returns the 95 % Wilson interval of the share.
func (a Answers) Interval() [2]float64 { return stats.Wilson(a.Good, a.Graded) }

// Decide makes a run pass that has at least a share of good answers, and fail where it has less, or none that was
// graded. A run that could not be graded or was stopped stays as it is. What the histories do not tell for sure is kept
// with the run's warnings.
func (a Answers) Decide(run *result.Run, least float64) {
	if unclear := a.Warning(); unclear != "" {
		run.Warnings = append(run.Warnings, unclear)
	}
	switch {
	case run.Stopped() || run.Code() != result.ExitFailed && run.Code() != result.ExitPassed:
	case a.Graded == 0 || a.Share() < least:
		run.Ended(result.ExitFailed, result.ReasonFailed)
	default:
		run.Ended(result.ExitPassed, result.ReasonPassed)
	}
}

// Warning says what the histories do not tell for sure, as it is kept with the run's warnings; empty when every history
// is clear.
func (a Answers) Warning() string {
	if a.Unclear.Items == 0 {
		return ""
	}
	return a.Unclear.String() + "; metadata.warnings of each record says which"
}
