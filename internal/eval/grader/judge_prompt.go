package grader

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// newJudgePrompt makes the free judge. Without an author's prompt, the criteria or the expected output say what is
// good.
func newJudgePrompt(a *Args) runner.Grader {
	prompt := a.TextOr("prompt", "",
		"what to judge, or the path of a file with it; vars, {{criteria}} and {{expected_output}} are filled in; "+
			"{{input}} and {{output}} name the fields that the judge gets beside it; without those two it gets all")
	value := a.TextOr("value", "", "the same as prompt")
	criteria := a.TextOr("criteria", "", "what a good reply does, in place of the test's criteria")
	rubrics, hasRubrics := a.Node("rubrics", "list of criteria",
		"as criteria of the type rubrics; makes this a checklist", false)
	if prompt != "" {
		prompt = loadPrompt(a, "prompt", prompt)
	} else {
		prompt = loadPrompt(a, "value", value)
	}
	if hasRubrics {
		return &rubricGrader{
			judge: a.set.Judge, check: runner.Check{Assertion: a.Assertion}, rubrics: readRubrics(rubrics),
		}
	}
	return &freeJudge{
		judge: a.set.Judge, check: runner.Check{Assertion: a.Assertion}, prompt: prompt, criteria: criteria,
	}
}

type freeJudge struct {
	judge    Judge
	check    runner.Check
	prompt   string
	criteria string
}

// Grade asks for one score between 0 and 1.
func (g *freeJudge) Grade(ctx context.Context, x *runner.Exchange) (result.Grade, error) {
	q := question(Free, x)
	if g.criteria != "" {
		q.Criteria = g.criteria
	}
	var names []string
	q.Task, names = fillPrompt(g.prompt, q)
	if slices.Contains(names, "input") || slices.Contains(names, "output") {
		q.Fields = names
	}
	verdict, err := callJudge(ctx, g.judge, q)
	if err != nil {
		return result.Grade{Judge: verdict.Use}, err
	}
	want := "the judge finds the reply good"
	switch {
	case g.prompt != "":
		want = clipped(g.prompt)
	case q.Criteria != "" && x.Expected == "":
		want = clipped(q.Criteria)
	case x.Expected != "":
		want = "matches the expected output"
	}
	a := result.Assertion{Text: want, Passed: passes(g.check, x, verdict.Score), Evidence: verdict.Reasoning}
	verdict.poll(&a, func(v Verdict) (float64, string) { return v.Score, v.Reasoning })
	return quoting(result.Grade{
		Score: verdict.Score, Code: result.QualityJudgeFail, Source: "judge", Judge: verdict.Use,
		Assertions: []result.Assertion{a},
		Reason:     fmt.Sprintf("wanted: %s; got a score of %.2f: %s", want, verdict.Score, verdict.Reasoning),
	}, x), nil
}

func passMark(x *runner.Exchange) float64 { return runner.Threshold(x.Test) }

func question(m Mode, x *runner.Exchange) Question {
	return Question{
		Mode: m, Input: slices.Clip(x.Input), Output: x.Output, ToolCalls: x.Reply.ToolCalls,
		Expected: x.Expected, Criteria: x.Criteria,
	}
}

// callJudge asks the judge. It returns an error when no judge is configured, and for a verdict that leaves out
// criteria: silence is not a no.
func callJudge(ctx context.Context, j Judge, q Question) (Verdict, error) {
	if j == nil {
		return Verdict{}, errors.New("no judge is configured: add --judge PROVIDER:MODEL, or `judge:` to rehearse.yaml")
	}
	v, err := j.Decide(ctx, q)
	if left := q.Unanswered(v); err == nil && len(left) > 0 {
		return Verdict{Use: v.Use}, fmt.Errorf("the judge did not answer %s", strings.Join(left, ", "))
	}
	return v, err
}

func clipped(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > 160 {
		return string(r[:160]) + "…"
	}
	return s
}
