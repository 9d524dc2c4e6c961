package grader

import (
	"context"
	"fmt"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// dimension is one aspect of an answer's quality. Their names are those of the history format's
// expectations (docs/e2e.md).
type dimension struct{ name, meaning string }

var dimensions = []dimension{
	{
		"correctness",
		"what the answer says is true by the expected output and the conversation; nothing in it contradicts them",
	},
	{"completeness", "everything that the expected output asks for is there"},
	{"flow", "the answer follows from the conversation: it picks up what was said, asks for nothing that was told, " +
		"and takes the step that is due"},
	{"format", "length, language, tone, layout and markers such as 👉 👇 💌 are as the expected output describes them " +
		"or, if it does not, fit a chat"},
}

// Dimensions returns the names of the four aspects of an answer's quality, in the order of reports.
func Dimensions() []string {
	names := make([]string, 0, len(dimensions))
	for _, d := range dimensions {
		names = append(names, d.name)
	}
	return names
}

// newAnswerQuality makes the grader that has a judge compare an answer with the expected output.
func newAnswerQuality(a *Args) runner.Grader {
	return &answerQuality{a.set.Judge, runner.Check{Assertion: a.Assertion}}
}

type answerQuality struct {
	judge Judge
	check runner.Check
}

// Grade scores the mean of the dimensions.
func (g *answerQuality) Grade(ctx context.Context, x *runner.Exchange) (result.Grade, error) {
	q := question(Criteria, x)
	q.Context, q.Reference, q.Meanings = excerpt(x), x.Expected, map[string]string{}
	for _, d := range dimensions {
		q.Names = append(q.Names, d.name)
		q.Meanings[d.name] = d.meaning
	}
	verdict, err := callJudge(ctx, g.judge, q)
	if err != nil {
		return result.Grade{Judge: verdict.Use}, err
	}
	grade := result.Grade{Code: result.QualityJudgeFail, Source: "judge", Judge: verdict.Use}
	var parts []string
	for _, d := range dimensions {
		score := verdict.Scores[d.name]
		grade.Score += score / float64(len(dimensions))
		said := fmt.Sprintf("%.2f", score)
		parts = append(parts, d.name+" "+said)
		a := result.Assertion{Text: d.name, Passed: passes(g.check, x, score), Evidence: said, Score: &score}
		verdict.poll(&a, func(v Verdict) (float64, string) { return v.Scores[d.name], v.Reasoning })
		grade.Assertions = append(grade.Assertions, a)
	}
	grade.Reason = strings.Join(parts, ", ")
	if verdict.Reasoning != "" {
		grade.Reason += ": " + verdict.Reasoning
	}
	return quoting(grade, x), nil
}
