package evaluation

import (
	"iter"
	"slices"

	"rehearse/internal/grader"
	"rehearse/internal/result"
	"rehearse/internal/runlog"
	"rehearse/internal/stats"
)

// Answers say how good the answers of a run are. What could not be graded does not count.
type Answers struct {
	Good, Graded int
	// Dimensions are the mean scores by grader.Dimensions, between 0 and 1; nil where no answer was scored.
	Dimensions map[string]float64
}

// ReadAnswers reads the answers of a run from its records.
func ReadAnswers(h *Held) (Answers, error) {
	var a Answers
	sums, scored := map[string]float64{}, 0
	for t, err := range runlog.Read(h.Dir) {
		if err != nil {
			return a, err
		}
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

// RequireShare makes a run pass that has at least a share of good answers, and fail where it has less. A run that could not be graded or was
// interrupted stays as it is.
func (h *Held) RequireShare(a Answers, least float64) {
	switch {
	case h.Run.Stopped() || h.Run.Code() != result.ExitFailed && h.Run.Code() != result.ExitPassed:
	case a.Share() < least:
		h.Run.Ended(result.ExitFailed, "failed")
	default:
		h.Run.Ended(result.ExitPassed, "passed")
	}
}
