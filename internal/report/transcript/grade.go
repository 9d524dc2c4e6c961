package transcript

import (
	"fmt"
	"slices"

	"rehearse/internal/report/prose"
	"rehearse/internal/result"
	"rehearse/internal/text"
)

// Item is a scored part: what was asserted, and what was found.
type Item struct {
	Name       string
	Verdict    result.Verdict
	Score      string
	Assertions []result.Assertion
	Failures   []result.Failure
	Left       int // assertions left out
	Partial    bool
}

const maxAssertions = 300

// scoreOf returns the score of a verdict as an attribute has it; nothing for what was not graded.
func scoreOf(v result.Verdict, score float64) string {
	if !v.Graded() {
		return ""
	}
	return number(score)
}

// worst returns the verdict of two items together.
func worst(a, b result.Verdict) result.Verdict {
	for _, v := range []result.Verdict{result.Error, result.Fail, result.Pass, result.Skip} {
		if a == v || b == v {
			return v
		}
	}
	return b
}

// turnNumber returns the turn of an item such as turn-3; 0 for the conversation's own.
func turnNumber(name string) (n int) {
	if _, err := fmt.Sscanf(name, "turn-%d", &n); err != nil || n < 1 {
		return 0
	}
	return n
}

// unplaced returns the failures that no item has.
func unplaced(t *result.Test) (failures []result.Failure) {
	for _, f := range t.Failures {
		same := func(g result.Failure) bool { return g.Code == f.Code && g.Source == f.Source && g.Message == f.Message }
		if !slices.ContainsFunc(t.Scores, func(s result.Score) bool { return slices.ContainsFunc(s.Failures, same) }) {
			failures = append(failures, shownFailure(f))
		}
	}
	return failures
}

func shownFailure(f result.Failure) result.Failure {
	f.Code, f.Source, f.Message = result.Code(text.OneLine(string(f.Code), 40)), text.OneLine(f.Source, 80), text.OneLine(f.Message, 2_000)
	return f
}

func itemOf(s result.Score) Item {
	i := Item{Name: text.OneLine(s.Name, 100), Verdict: s.Verdict, Score: scoreOf(s.Verdict, s.Score), Partial: s.PartialTranscript, Left: max(0, len(s.Assertions)-maxAssertions)}
	for _, a := range s.Assertions[:len(s.Assertions)-i.Left] {
		a.Text, a.Grader = text.OneLine(a.Text, 1_000), text.OneLine(a.Grader, 80)
		i.Assertions = append(i.Assertions, a)
	}
	for _, f := range s.Failures {
		i.Failures = append(i.Failures, shownFailure(f))
	}
	return i
}

// marksOf are the pieces of a reply on which its assertions decided.
func marksOf(assertions []result.Assertion) (marks []prose.Mark) {
	for _, a := range assertions {
		for _, span := range a.Spans {
			marks = append(marks, prose.Mark{From: span[0], To: span[1], Grader: a.Grader})
		}
	}
	return marks
}
