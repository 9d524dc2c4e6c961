package grader

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// overall is a quality that stands for the mean of several criteria; overallCriteria apply when none are named.
const overall = "assistant_quality"

// listedLeast is the score that a quality needs when the author gives only its name.
const listedLeast = 0.7

func overallCriteria() []string { return []string{"helpfulness", "faithfulness", "style"} }

// quality is one threshold: the mean score of its criteria, usually one, must reach least.
type quality struct {
	name     string
	criteria []string
	least    float64
}

// newJudgeCriteria makes the judge of named qualities, each with the score that it needs.
func newJudgeCriteria(a *Args) runner.Grader {
	n, ok := a.Node("criteria", "mapping", "quality: least score, such as helpfulness: 0.7 or helpfulness_min: 0.7; "+
		"assistant_quality is the mean over average_of; a list of names needs 0.7 each", true)
	a.refers("least_scores")
	averageOf := a.TextsOr("average_of", "the criteria that assistant_quality is the mean of; default: "+
		listed(overallCriteria()))
	if len(averageOf) == 0 {
		averageOf = overallCriteria()
	}
	g := &criteriaJudge{judge: a.set.Judge}
	if !ok {
		return g
	}
	if n.Kind == source.Map {
		for _, f := range n.Fields {
			g.need(f.Name, averageOf, n.Field(f.Name).Number(0, 1))
		}
	} else {
		for _, name := range n.Texts() {
			g.need(name, averageOf, listedLeast)
		}
	}
	if len(g.qualities) == 0 {
		n.Report("write `helpfulness: 0.7`", "no criterion is named")
	}
	return g
}

// criteriaJudge asks for every criterion in one call.
type criteriaJudge struct {
	judge     Judge
	qualities []quality
	// names are the criteria of all qualities, each once.
	names []string
}

func (g *criteriaJudge) need(key string, averageOf []string, least float64) {
	q := quality{name: strings.TrimSuffix(key, "_min"), least: least}
	q.criteria = []string{q.name}
	if q.name == overall {
		q.criteria = averageOf
	}
	g.qualities = append(g.qualities, q)
	for _, name := range q.criteria {
		if !slices.Contains(g.names, name) {
			g.names = append(g.names, name)
		}
	}
}

// Grade passes when every quality reaches its least score.
func (g *criteriaJudge) Grade(ctx context.Context, x *runner.Exchange) (result.Grade, error) {
	q := question(Criteria, x)
	q.Names = g.names
	q.Context = excerpt(x)
	verdict, err := callJudge(ctx, g.judge, q)
	if err != nil {
		return result.Grade{Judge: verdict.Use}, err
	}
	grade := result.Grade{Score: 1, Code: result.QualityJudgeFail, Judge: verdict.Use}
	var missed []string
	for _, q := range g.qualities {
		passed, evidence := q.passes(verdict.Scores)
		a := result.Assertion{Text: q.name, Passed: passed, Evidence: evidence}
		verdict.poll(&a, func(v Verdict) (float64, string) { return q.mean(v.Scores), v.Reasoning })
		grade.Assertions = append(grade.Assertions, a)
		if !passed {
			missed = append(missed, q.name+" "+evidence)
			grade.Score = 0
		}
	}
	if len(missed) > 0 {
		grade.Reason = strings.Join(missed, "; ")
		if verdict.Reasoning != "" {
			grade.Reason += ": " + verdict.Reasoning
		}
	}
	return quoting(grade, x), nil
}

// passes reports whether the scores reach the threshold, and lists them as evidence.
func (q quality) passes(scores map[string]float64) (passed bool, evidence string) {
	parts := make([]string, 0, len(q.criteria))
	for _, name := range q.criteria {
		parts = append(parts, fmt.Sprintf("%s %.2f", name, scores[name]))
	}
	mean := q.mean(scores)
	evidence = fmt.Sprintf("scored %.2f, needs %.2f", mean, q.least)
	if len(q.criteria) > 1 {
		evidence = fmt.Sprintf("scored %.2f on average (%s), needs %.2f", mean, strings.Join(parts, ", "), q.least)
	}
	return mean >= q.least-1e-9, evidence // allows for the rounding of a mean
}

// mean is the mean score of the quality's criteria.
func (q quality) mean(scores map[string]float64) float64 {
	sum := 0.0
	for _, name := range q.criteria {
		sum += scores[name]
	}
	return sum / float64(len(q.criteria))
}
