package grader

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// maxAnswer bounds what a program or a web service may answer.
const maxAnswer = 1 << 20

// request is what a program or a web service is sent: the exchange and the author's configuration.
type request struct {
	view
	Config any `json:"config"`
}

// answer is what a program or a web service replies.
type answer struct {
	Score      *float64           `json:"score"`
	Passed     *bool              `json:"passed"`
	Reasoning  string             `json:"reasoning"`
	Assertions []result.Assertion `json:"assertions"`
}

// parseAnswer turns an answer into a grade. An error means that the answer decides nothing.
// An answer that says it did not pass, but scores enough to pass, counts as 0.
func parseAnswer(data []byte, who string, check runner.Check, x *runner.Exchange) (result.Grade, error) {
	if len(data) > maxAnswer {
		return result.Grade{}, fmt.Errorf("answer of %s: larger than %d bytes", who, maxAnswer)
	}
	var a answer
	if err := json.Unmarshal(data, &a); err != nil {
		return result.Grade{}, fmt.Errorf("answer of %s %s: not the JSON that is expected: %w", who,
			quote(strings.TrimSpace(string(data))), err)
	}
	if err := oneMeaning(data); err != nil {
		return result.Grade{}, fmt.Errorf("answer of %s: %w", who, err)
	}
	if a.Score == nil {
		return result.Grade{}, fmt.Errorf("answer of %s: no score", who)
	}
	score := *a.Score
	if !(score >= 0 && score <= 1) {
		return result.Grade{}, fmt.Errorf("answer of %s: the score %g is not from 0 to 1", who, score)
	}
	evidence := decimal(score)
	if a.Passed != nil && !*a.Passed && passes(check, x, score) {
		evidence = "passed: false with a score of " + evidence
		score = 0
	}
	if a.Reasoning != "" {
		evidence += ", " + quote(a.Reasoning)
	}
	g := scored(check, x, "approval of "+who, score, evidence)
	if len(a.Assertions) > 0 {
		g.Assertions = a.Assertions
	}
	for i := range g.Assertions {
		g.Assertions[i].Grader = "" // the runner sets the grader
	}
	return g, nil
}

// oneMeaning returns an error when an answer, a JSON object, names a key twice or in another case: which of the two
// counts would be a guess.
func oneMeaning(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return errors.New("it is no JSON object")
	}
	seen := map[string]bool{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return err
		}
		key, _ := token.(string)
		for _, known := range []string{"score", "passed", "reasoning", "assertions"} {
			if strings.EqualFold(key, known) && key != known {
				return fmt.Errorf("the key %q is written %q", known, key)
			}
		}
		if seen[key] {
			return fmt.Errorf("the key %q is written twice", key)
		}
		seen[key] = true
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return err
		}
	}
	return nil
}

// newRequest returns the request about an exchange as JSON.
func newRequest(x *runner.Exchange, config any) ([]byte, error) {
	data, err := json.Marshal(request{viewOf(x), config})
	if err != nil {
		return nil, fmt.Errorf("exchange as JSON: %w", err)
	}
	return data, nil
}
