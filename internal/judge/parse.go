package judge

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"rehearse/internal/grader"
	"rehearse/internal/text"
)

// reply has the fields of every form in which a judge may answer. Unknown fields are ignored.
type reply struct {
	Checks []struct {
		ID        string   `json:"id"`
		Satisfied *bool    `json:"satisfied"`
		Score     *float64 `json:"score"`
		Reasoning string   `json:"reasoning"`
	} `json:"checks"`
	Overall     string             `json:"overall_reasoning"`
	Scores      map[string]float64 `json:"scores"`
	FailReasons []string           `json:"fail_reasons"`
	Score       *float64           `json:"score"`
	Reasoning   string             `json:"reasoning"`
}

// parse reads a judge's reply to a question. An ambiguous reply is an error, never a verdict.
// The verdict leaves out what the judge left out; the grader counts that as not satisfied.
func parse(q grader.Question, words string) (grader.Verdict, error) {
	var r reply
	body, ok := text.JSONIn(words)
	switch {
	case strings.TrimSpace(words) == "":
		return grader.Verdict{}, errors.New("it is empty")
	case !ok:
		return grader.Verdict{}, errors.New("it is not a JSON object")
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return grader.Verdict{}, plain(err)
	}
	switch q.Mode {
	case grader.Checklist:
		return checklist(q, r)
	case grader.Criteria:
		if r.Scores == nil {
			return grader.Verdict{}, errors.New(`it has no "scores"`)
		}
		for name, score := range r.Scores {
			if !within(score, 1) {
				return grader.Verdict{}, fmt.Errorf("the score of %q is %g, not between 0 and 1", name, score)
			}
		}
		return grader.Verdict{Scores: r.Scores, Reasoning: strings.Join(r.FailReasons, "; ")}, nil
	}
	if r.Score == nil {
		return grader.Verdict{}, errors.New(`it has no "score"`)
	}
	if !within(*r.Score, 1) {
		return grader.Verdict{}, fmt.Errorf("the score is %g, not between 0 and 1", *r.Score)
	}
	return grader.Verdict{Score: *r.Score, Reasoning: r.Reasoning}, nil
}

// plain says what is wrong with a reply's JSON in words that people and models understand.
func plain(err error) error {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		where := "it"
		if wrong.Field != "" {
			where = fmt.Sprintf("%q in it", wrong.Field)
		}
		return fmt.Errorf("it is not the JSON that was asked for: %s cannot be a JSON %s", where, wrong.Value)
	}
	return fmt.Errorf("it is not valid JSON: %w", err)
}

func checklist(q grader.Question, r reply) (grader.Verdict, error) {
	if r.Checks == nil {
		return grader.Verdict{}, errors.New(`it has no "checks"`)
	}
	ranged := map[string]bool{}
	for _, rubric := range q.Rubrics {
		ranged[rubric.ID] = len(rubric.Ranges) > 0
	}
	v := grader.Verdict{Checks: map[string]grader.RubricCheck{}, Reasoning: r.Overall}
	for _, c := range r.Checks {
		hasRanges, known := ranged[c.ID]
		if !known {
			continue
		}
		check := grader.RubricCheck{Reasoning: c.Reasoning}
		switch {
		case hasRanges && (c.Score == nil || !within(*c.Score, 10)):
			return grader.Verdict{}, fmt.Errorf("the check %q needs a score from 0 to 10", c.ID)
		case hasRanges:
			check.Score = *c.Score
		case c.Satisfied == nil:
			return grader.Verdict{}, fmt.Errorf(`the check %q needs "satisfied": true or false`, c.ID)
		default:
			check.Satisfied = *c.Satisfied
		}
		if earlier, twice := v.Checks[c.ID]; twice { // of contradicting answers, the lower one counts
			check.Satisfied = check.Satisfied && earlier.Satisfied
			check.Score = math.Min(check.Score, earlier.Score)
		}
		v.Checks[c.ID] = check
	}
	return v, nil
}

func within(x, high float64) bool { return x >= 0 && x <= high }
