package transcript

import (
	"fmt"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/report/markdown"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Item is a scored part: what was asserted, and what was found.
type Item struct {
	Name       string
	Verdict    result.Verdict
	Score      string
	Assertions []result.Assertion
	Failures   []result.Failure
	Left       int // assertions left out
	Further    int // failures left out
	Partial    bool
}

// maxAssertions and maxFailures are how many of an item are shown.
const (
	maxAssertions = 300
	maxFailures   = 300
)

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

// unplaced returns the failures that no item has, and how many of them are left out.
func unplaced(t *result.Test) (failures []result.Failure, further int) {
	type fault struct {
		code            result.Code
		source, message string
	}
	placed := map[fault]bool{}
	for i := range t.Scores {
		for _, f := range t.Scores[i].Failures {
			placed[fault{f.Code, f.Source, f.Message}] = true
		}
	}
	for _, f := range t.Failures {
		switch {
		case placed[fault{f.Code, f.Source, f.Message}]:
		case len(failures) == maxFailures:
			further++
		default:
			failures = append(failures, shownFailure(f))
		}
	}
	return failures, further
}

func shownFailure(f result.Failure) result.Failure {
	f.Code, f.Source, f.Message = result.Code(text.OneLine(string(f.Code), 40)), text.OneLine(f.Source, 80),
		text.OneLine(f.Message, 2_000)
	return f
}

func itemOf(s result.Score) Item {
	i := Item{
		Name: text.OneLine(s.Name, 100), Verdict: s.Verdict, Score: scoreOf(s.Verdict, s.Score),
		Partial: s.PartialTranscript, Left: max(0, len(s.Assertions)-maxAssertions),
	}
	for _, a := range s.Assertions[:len(s.Assertions)-i.Left] {
		a.Text, a.Grader = text.OneLine(a.Text, 1_000), text.OneLine(a.Grader, 80)
		i.Assertions = append(i.Assertions, a)
	}
	for _, f := range s.Failures[:min(len(s.Failures), maxFailures)] {
		i.Failures = append(i.Failures, shownFailure(f))
	}
	i.Further = len(s.Failures) - len(i.Failures)
	return i
}

// marksOf are the pieces of a reply on which its assertions decided.
func marksOf(assertions []result.Assertion) (marks []markdown.Mark) {
	for _, a := range assertions {
		for _, span := range a.Spans {
			marks = append(marks, markdown.Mark{From: span[0], To: span[1], Grader: a.Grader})
		}
	}
	return marks
}
