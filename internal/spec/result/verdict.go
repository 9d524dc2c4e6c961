package result

import "slices"

// Reaches reports whether a score reaches a threshold. It allows for the rounding of a mean: four fifths reach 0.8.
func Reaches(score, threshold float64) bool { return score >= threshold-1e-9 }

// Decide returns the verdict of a test that ran and was decided. The test passes when its score and its graded score
// both reach the threshold and rejected is false; rejected is for rules beside the threshold, such as strictness.
// Without a graded score nothing was graded: a score that reaches the threshold is then no pass but Ungraded.
func Decide(score float64, graded *float64, threshold float64, rejected bool) (Verdict, Status) {
	switch {
	case rejected || !Reaches(score, threshold) || graded != nil && !Reaches(*graded, threshold):
		return Fail, QualityFailure
	case graded == nil:
		return Ungraded, OK
	}
	return Pass, OK
}

// FailedChecks are the checks of one test that failed.
type FailedChecks struct {
	// Failed of Total checks failed. Checks of skipped items do not count.
	Failed, Total int
	// Texts are those of the failed checks, in the order of the conversation.
	Texts []string
	// Lowest is the name of the turn with the lowest score; empty where no turn scored below 1.
	Lowest string
	// LowestScore is the score of that turn.
	LowestScore float64
}

// FailedChecks returns which of the test's checks failed. An aggregate over trials has none of its own.
func (t *Test) FailedChecks() FailedChecks {
	f := FailedChecks{LowestScore: 1}
	for _, s := range t.Scores {
		if s.Verdict == Skip || s.Verdict == Error {
			continue
		}
		if s.Name != wholeName && s.Score < f.LowestScore {
			f.Lowest, f.LowestScore = s.Name, s.Score
		}
		f.Total += len(s.Assertions)
		for _, a := range s.Assertions {
			if a.Fails() {
				f.Failed++
				f.Texts = append(f.Texts, a.Text)
			}
		}
	}
	return f
}

// wholeName is the name of the item that grades the whole conversation.
const wholeName = "assertions"

// Fails reports whether the check failed and counts as failed.
func (a Assertion) Fails() bool { return !a.Passed && !a.Excused }

// AnyFails reports whether one of the checks fails.
func AnyFails(checks []Assertion) bool { return slices.ContainsFunc(checks, Assertion.Fails) }

// PassedWithFailures reports whether the test passed although a check, or one of its trials, failed.
func (t *Test) PassedWithFailures() bool {
	if t.Verdict != Pass {
		return false
	}
	if t.Trials != nil {
		return t.Trials.Passed < t.Trials.Count
	}
	return slices.ContainsFunc(t.Scores, func(s Score) bool { return s.Verdict != Skip && AnyFails(s.Assertions) })
}
