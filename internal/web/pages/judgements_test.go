package pages_test

import (
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// What a judge decided is listed whatever the assertion is called, also where the suite has none and the expected
// output or the criteria are judged. What it was not asked is not, nor is what no judge decides.
func TestWhatIsJudged(t *testing.T) {
	s := newSite(t)
	item := func(name, kind string, assertions ...result.Assertion) result.Score {
		return result.Score{Name: name, Type: kind, Verdict: result.Pass, Score: 1, Assertions: assertions}
	}
	say := func(text, grader string) result.Assertion {
		return result.Assertion{Text: text, Passed: true, Grader: grader}
	}
	x := rated("x", "t", result.Pass, 1, 10)
	x.Judge.Calls = 1
	skipped := say("left out", "rubrics")
	skipped.Passed, skipped.Evidence = false, result.NotCalled
	x.Scores = []result.Score{
		item("turn-1", "judge", say("implied", "expected_output")), item("turn-2", "rubrics", say("named", "polite")),
		item("turn-3", "composite", say("plain", "contains"), say("mixed", "rubrics"), skipped),
		item("turn-4", "expression", say("counted", "one-question")),
		item("assertions", "judge", say("whole", "criteria")),
	}
	y := rated("y", "t", result.Fail, 0, 10)
	y.Scores = []result.Score{item("turn-1", "composite", skipped)}
	s.put(result.Run{ID: "r", Targets: []string{"t"}}, x, y)
	page := s.get(200, "/judge?run=r")
	if got := strings.Fields(rows(page, "judgement", "data-assertion")); strings.Join(got, " ") !=
		"implied named mixed whole" {
		t.Errorf("%v", got)
	}
}
