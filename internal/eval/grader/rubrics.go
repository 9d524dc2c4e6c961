package grader

import (
	"context"
	"fmt"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// rubric is one criterion with the rules by which its answer counts.
type rubric struct {
	Rubric
	weight   float64
	required bool
	// minScore is the least score that counts at all; negative means that the author gave none.
	minScore float64
}

func newRubrics(a *Args) runner.Grader {
	// the runner's own; an author's is a mapping
	implicit := a.Assertion.Name != "" && a.Assertion.Params.Kind == source.Null
	n, ok := a.Node("criteria", "list of criteria",
		"texts, or {id, outcome, weight, required, min_score, operator, score_ranges}", !implicit)
	if implicit {
		return &expectation{judge: a.set.Judge, check: runner.Check{Assertion: a.Assertion}}
	}
	var rubrics []rubric
	if ok {
		rubrics = readRubrics(n)
	}
	return &rubricGrader{judge: a.set.Judge, check: runner.Check{Assertion: a.Assertion}, rubrics: rubrics}
}

// rubricGrader asks the judge for all criteria of one list in a single call.
type rubricGrader struct {
	judge   Judge
	check   runner.Check
	rubrics []rubric
}

// Grade scores the weighted share of the criteria that are satisfied.
// A required criterion that fails makes the score 0, and that of the turn.
func (g *rubricGrader) Grade(ctx context.Context, x *runner.Exchange) (result.Grade, error) {
	q := question(Checklist, x)
	for _, r := range g.rubrics {
		q.Rubrics = append(q.Rubrics, r.Rubric)
	}
	verdict, err := callJudge(ctx, g.judge, q)
	if err != nil {
		return result.Grade{Judge: verdict.Use}, err
	}
	grade := result.Grade{Code: result.QualityJudgeFail, Source: "judge", Judge: verdict.Use}
	var sum, weights float64
	var missed []string
	for _, r := range g.rubrics {
		check := verdict.Checks[r.ID]
		score, passed := r.score(check, func(score float64) bool { return passes(g.check, x, score) })
		a := result.Assertion{Text: r.Outcome, Passed: passed, Evidence: check.Reasoning}
		verdict.poll(&a, func(v Verdict) (float64, string) { return r.vote(v.Checks[r.ID]), v.Checks[r.ID].Reasoning })
		if len(r.Ranges) == 0 && tied(a.Votes) {
			a.Evidence += ": a tie counts as no"
		}
		grade.Assertions = append(grade.Assertions, a)
		if !passed {
			if r.required {
				grade.Zero = true
				missed = append(missed, fmt.Sprintf("the required %q", r.Outcome))
			} else {
				missed = append(missed, fmt.Sprintf("%q", r.Outcome))
			}
		}
		sum += score * r.weight
		weights += r.weight
	}
	if weights > 0 && !grade.Zero {
		grade.Score = sum / weights
	}
	if len(missed) > 0 {
		grade.Reason = "wanted every criterion satisfied; got no for " + strings.Join(missed, ", ")
	}
	return quoting(grade, x), nil
}

// score returns how much an answer counts and whether the criterion passed: it is satisfied, or its score reaches
// minScore, else it passes by the mark of the whole check.
func (r rubric) score(c RubricCheck, passes func(score float64) bool) (score float64, passed bool) {
	if len(r.Ranges) == 0 {
		if c.Satisfied {
			return 1, true
		}
		return 0, false
	}
	score = c.Score / 10
	if r.minScore < 0 {
		return score, passes(score)
	}
	if score < r.minScore {
		return 0, false
	}
	return score, true
}

// vote is an answer as a score.
func (r rubric) vote(c RubricCheck) float64 {
	switch {
	case len(r.Ranges) > 0:
		return c.Score / 10
	case c.Satisfied:
		return 1
	}
	return 0
}

// expectation asks for what a test says of a reply outside of its assertions: its criteria and its expected output.
type expectation struct {
	judge Judge
	check runner.Check
}

// expected is the criterion of an expected output.
const expected = "Matches the expected output as the answer to the input: the same substance, not the same words"

// Grade asks for the criteria, or for the expected output with the criteria as an explanation.
func (g *expectation) Grade(ctx context.Context, x *runner.Exchange) (result.Grade, error) {
	list := &rubricGrader{judge: g.judge, check: g.check}
	add := func(outcome string) {
		id := fmt.Sprintf("criterion-%d", len(list.rubrics)+1)
		list.rubrics = append(list.rubrics, rubric{Rubric: Rubric{ID: id, Outcome: outcome}, weight: 1, minScore: -1})
	}
	of := *x
	if g.check.Name == "criteria" {
		add(x.Criteria)
		of.Criteria = ""
	}
	if x.Expected != "" {
		add(expected)
	}
	return list.Grade(ctx, &of)
}

func readRubrics(list source.Node) []rubric {
	if list.Kind == source.List && len(list.Items) == 0 {
		list.Report("add a criterion in words", "the list of criteria is empty")
	}
	var rubrics []rubric
	seen := map[string]bool{}
	for i, n := range list.List() {
		r := rubric{weight: 1, minScore: -1}
		r.ID = fmt.Sprintf("criterion-%d", i+1)
		if n.Kind == source.String {
			r.Outcome = n.Text()
		} else {
			readRubric(n, &r)
		}
		if strings.TrimSpace(r.Outcome) == "" {
			n.Report("say in words what the judge should look for", "the criterion has no outcome")
		}
		if seen[r.ID] {
			n.Report("ids must be unique within a list", "the criterion id %q is used twice", r.ID)
		}
		seen[r.ID] = true
		rubrics = append(rubrics, r)
	}
	return rubrics
}

// criterion has the keys of a criterion.
type criterion struct {
	ID       string      `json:"id"`
	Outcome  string      `json:"outcome" doc:"what the judge looks for"`
	Operator string      `json:"operator" enum:"correctness,contradiction"`
	Weight   float64     `json:"weight" minimum:"0" maximum:"1000000"`
	MinScore float64     `json:"min_score" minimum:"0" maximum:"1"`
	Required source.Node `json:"required"`
	Ranges   source.Node `json:"score_ranges" doc:"what scores from 0 to 10 mean"`
}

// readRubric reads a mapping. A number as `required` is also a least score, and the greater of the two counts.
func readRubric(n source.Node, r *rubric) {
	k := criterion{ID: r.ID, Weight: r.weight, MinScore: r.minScore}
	source.Decode(n, &k)
	r.ID, r.Outcome, r.Operator, r.weight, r.minScore = k.ID, k.Outcome, k.Operator, k.Weight, k.MinScore
	switch k.Required.Kind {
	case source.Null:
	case source.Number:
		r.required, r.minScore = true, max(r.minScore, k.Required.Number(0, 1))
	default:
		r.required = k.Required.Bool()
	}
	switch k.Ranges.Kind {
	case source.Null:
	case source.Map:
		r.Ranges = readScores(k.Ranges)
	default:
		for _, item := range k.Ranges.List() {
			r.Ranges = append(r.Ranges, readRange(item))
		}
	}
}

// readScores reads a mapping from a score to its outcome, which is that of all scores up to the next one.
func readScores(n source.Node) (ranges []Range) {
	for name, outcome := range n.Entries() {
		low, ok := source.Text(name).Float()
		if !ok || low < 0 || low > 10 || low != float64(int(low)) {
			outcome.Report("write whole scores from 0 to 10", "%q is no score", name)
			continue
		}
		if k := len(ranges); k > 0 {
			ranges[k-1].Ends[1] = max(ranges[k-1].Ends[0], int(low)-1)
		}
		ranges = append(ranges, Range{Ends: [2]int{int(low), 10}, Outcome: outcome.Text()})
	}
	return ranges
}

// scoreRange has the keys of one range of scores.
type scoreRange struct {
	Ends    []float64 `json:"score_range" minimum:"0" maximum:"10"`
	Outcome string    `json:"outcome"`
}

func readRange(n source.Node) Range {
	var k scoreRange
	source.Decode(n, &k)
	r := Range{Outcome: k.Outcome}
	switch {
	case n.Kind != source.Map:
	case !n.Has("score_range") || r.Outcome == "":
		n.Report("write {score_range: [low, high], outcome: …}", "a score range needs its ends and an outcome")
	case len(k.Ends) != 2 || k.Ends[0] > k.Ends[1]:
		n.Field("score_range").Report("write [low, high] with whole scores from 0 to 10", "not a range of scores")
	default:
		r.Ends = [2]int{int(k.Ends[0]), int(k.Ends[1])}
	}
	return r
}
