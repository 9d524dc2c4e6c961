package judge

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/eval/grader"
)

// verdict reads an object of the form that a question asks for. Keys that belong to no form are ignored, and so are
// answers to rubrics that were not asked.
func (c checklist) verdict(fields map[string]any) (grader.Verdict, error) {
	switch c.Mode {
	case grader.Checklist:
		return c.checks(fields)
	case grader.Criteria:
		return criteria(c.Question, fields)
	case grader.Compare:
		return preferred(fields)
	}
	if err := exact(fields, "score", "reasoning"); err != nil {
		return grader.Verdict{}, err
	}
	score, err := number(`the score`, fields["score"], 1)
	return grader.Verdict{Score: score, Reasoning: textOf(fields["reasoning"])}, err
}

func criteria(q grader.Question, fields map[string]any) (grader.Verdict, error) {
	if err := exact(fields, "scores", "fail_reasons"); err != nil {
		return grader.Verdict{}, err
	}
	scores, ok := fields["scores"].(map[string]any)
	if !ok {
		return grader.Verdict{}, unlike(`"scores"`, fields["scores"])
	}
	if err := exact(scores, q.Names...); err != nil {
		return grader.Verdict{}, err
	}
	v := grader.Verdict{Scores: make(map[string]float64, len(scores))}
	for _, name := range slices.Sorted(maps.Keys(scores)) {
		score, err := number(fmt.Sprintf("the score of %q", name), scores[name], 1)
		if err != nil {
			return grader.Verdict{}, err
		}
		v.Scores[name] = score
	}
	reasons, _ := fields["fail_reasons"].([]any)
	texts := make([]string, 0, len(reasons))
	for _, reason := range reasons {
		texts = append(texts, textOf(reason))
	}
	v.Reasoning = strings.Join(texts, "; ")
	return v, nil
}

func (c checklist) checks(fields map[string]any) (grader.Verdict, error) {
	if err := exact(fields, "checks", "overall_reasoning"); err != nil {
		return grader.Verdict{}, err
	}
	checks, ok := fields["checks"].([]any)
	if !ok {
		return grader.Verdict{}, unlike(`"checks"`, fields["checks"])
	}
	v := grader.Verdict{Checks: map[string]grader.RubricCheck{}, Reasoning: textOf(fields["overall_reasoning"])}
	seen := map[string]bool{}
	for _, item := range checks {
		check, ok := item.(map[string]any)
		if !ok {
			return grader.Verdict{}, unlike("a check", item)
		}
		if err := exact(check, "id", "satisfied", "score", "reasoning"); err != nil {
			return grader.Verdict{}, err
		}
		id, ok := check["id"].(string)
		switch {
		case !ok:
			return grader.Verdict{}, errors.New(`a check has no "id"`)
		case seen[id]:
			return grader.Verdict{}, fmt.Errorf("it answers %q twice", id)
		}
		seen[id] = true
		asked, ok := c.find(id, len(checks))
		if !ok {
			continue
		}
		if _, twice := v.Checks[asked.ID]; twice { // by its id and by its text
			return grader.Verdict{}, fmt.Errorf("it answers %q twice", asked.ID)
		}
		answer, err := answer(asked, check)
		if err != nil {
			return grader.Verdict{}, err
		}
		v.Checks[asked.ID] = answer
	}
	return v, nil
}

// answer reads the answer to one rubric.
func answer(r grader.Rubric, check map[string]any) (grader.RubricCheck, error) {
	a := grader.RubricCheck{Reasoning: textOf(check["reasoning"])}
	if len(r.Ranges) > 0 {
		score, ok := check["score"].(float64)
		if !ok || !within(score, 10) {
			return a, fmt.Errorf("the check %q needs a score from 0 to 10", r.ID)
		}
		a.Score = score
		return a, nil
	}
	var ok bool
	if check["satisfied"] == nil {
		return a, fmt.Errorf(`the check %q needs "satisfied": true or false`, r.ID)
	}
	if a.Satisfied, ok = check["satisfied"].(bool); !ok {
		return a, unlike(fmt.Sprintf(`"satisfied" of %q`, r.ID), check["satisfied"])
	}
	return a, nil
}

// exact refuses keys that differ from the asked ones in their case only: readers of JSON disagree on what such keys
// mean.
func exact(fields map[string]any, asked ...string) error {
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if slices.Contains(asked, key) {
			continue
		}
		if i := slices.IndexFunc(asked, func(a string) bool { return strings.EqualFold(a, key) }); i >= 0 {
			return fmt.Errorf("it has the key %q in place of %q", key, asked[i])
		}
	}
	return nil
}

// number reads a score between 0 and high.
func number(what string, v any, high float64) (float64, error) {
	score, ok := v.(float64)
	switch {
	case !ok:
		return 0, unlike(what, v)
	case !within(score, high):
		return 0, fmt.Errorf("%s is %g, not between 0 and %g", what, score, high)
	}
	return score, nil
}

func within(x, high float64) bool { return x >= 0 && x <= high }

// textOf returns a text. Reasons decide nothing, so a reason of another kind is no fault.
func textOf(v any) string {
	s, _ := v.(string)
	return s
}

// unlike says that a value is of the wrong kind.
func unlike(what string, v any) error {
	kind := "object"
	switch v.(type) {
	case nil:
		kind = "null"
	case bool:
		kind = "bool"
	case float64:
		kind = "number"
	case string:
		kind = "string"
	case []any:
		kind = "array"
	}
	return fmt.Errorf("it is not the JSON that was asked for: %s cannot be a JSON %s", what, kind)
}

// plain says what is wrong with JSON in words that people and models understand.
func plain(err error) error {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("it is not the JSON that was asked for: it cannot hold the JSON %s", wrong.Value)
	}
	return fmt.Errorf("it is not valid JSON: %w", err)
}
