package llm

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// verdict is one entry of `verdicts`: criteria that match the first pattern are satisfied by outputs that match the
// second.
type verdict struct {
	Criterion pattern `key:"criterion"`
	Output    pattern `key:"output"`
	// Canary is true of an entry that decides canaries, and nothing else.
	Canary bool `key:"canary"`
	// Score is what a satisfied criterion gets in a rubric with scores.
	Score float64 `key:"score" minimum:"0" maximum:"10"`
}

// DecodeNode reads an entry, whose score is 10 by default.
func (v *verdict) DecodeNode(n source.Node) {
	v.Score = 10
	type keys verdict
	source.Decode(n, (*keys)(v))
}

// question is what a judge is asked: the JSON object of the last user message that is one.
// A later message may only ask to repair the reply.
type question struct {
	Rubrics []struct {
		ID      string          `json:"id"`
		Outcome string          `json:"outcome"`
		Ranges  json.RawMessage `json:"score_ranges"`
	} `json:"rubrics"`
	Expected json.RawMessage `json:"expected_criteria"`
	Output   *string         `json:"output"`
	Message  *string         `json:"assistant_message"`
	Task     string          `json:"task"`
	Criteria any             `json:"criteria"`
}

func findQuestion(messages []chat.Message) (q question, err error) {
	for _, m := range slices.Backward(messages) {
		content := m.Content.String()
		if m.Role != chat.User || !strings.HasPrefix(strings.TrimSpace(content), "{") {
			continue
		}
		q = question{}
		if json.Unmarshal([]byte(content), &q) == nil {
			return q, nil
		}
	}
	return q, errors.New("no user message is the JSON object of a judge's request")
}

type check struct {
	ID        string   `json:"id"`
	Satisfied *bool    `json:"satisfied,omitempty"`
	Score     *float64 `json:"score,omitempty"`
	Reasoning string   `json:"reasoning"`
}

// judge answers a judge's request in the form in which it is asked: a checklist, named criteria, or one score.
func judge(verdicts []verdict, messages []chat.Message) ([]byte, error) {
	q, err := findQuestion(messages)
	if err != nil {
		return nil, err
	}
	output := q.Task // the exchange may stand in the author's own prompt
	if q.Output != nil {
		output = *q.Output
	} else if q.Message != nil {
		output = *q.Message
	}
	switch {
	case q.Rubrics != nil:
		checks := make([]check, len(q.Rubrics))
		for i, r := range q.Rubrics {
			score, reason := decide(verdicts, r.Outcome, output)
			checks[i] = check{ID: r.ID, Reasoning: reason}
			if len(r.Ranges) > 0 && string(r.Ranges) != "null" {
				checks[i].Score = &score
			} else {
				satisfied := reason == reasonMatch
				checks[i].Satisfied = &satisfied
			}
		}
		return encodeJSON(struct {
			Checks  []check `json:"checks"`
			Overall string  `json:"overall_reasoning"`
		}{checks, "decided by a script"})
	case len(q.Expected) > 0 && string(q.Expected) != "null":
		names, err := criteriaNames(q.Expected)
		if err != nil {
			return nil, err
		}
		scores := map[string]float64{}
		reasons := []string{}
		for _, name := range names {
			score, reason := decide(verdicts, name, output)
			if scores[name] = score / 10; reason != reasonMatch {
				reasons = append(reasons, name+": "+reason)
			}
		}
		return encodeJSON(struct {
			Scores  map[string]float64 `json:"scores"`
			Reasons []string           `json:"fail_reasons"`
		}{scores, reasons})
	}
	criteria := q.Task
	if q.Criteria != nil {
		criteria += fmt.Sprintf("\n%v", q.Criteria)
	}
	score, reason := decide(verdicts, criteria, output)
	return encodeJSON(struct {
		Score     float64 `json:"score"`
		Reasoning string  `json:"reasoning"`
	}{score / 10, reason})
}

const reasonMatch = "the output has what the script looks for"

// canary matches the control criterion that a judge's request contains.
var canary = regexp.MustCompile(`^The reply contains the word "([^"]*)"\.$`)

// decide returns a score of 0..10 and why. The first entry that knows the criterion decides. A canary is decided by
// what it says where no entry is for canaries, and a negation of a criterion by that criterion.
func decide(verdicts []verdict, criterion, output string) (float64, string) {
	if of, negated := strings.CutPrefix(criterion, "This is not the case: "); negated {
		if _, reason := decide(verdicts, of, output); reason == reasonMatch {
			return 0, "the opposite is the case"
		}
		return 10, reasonMatch
	}
	m := canary.FindStringSubmatch(criterion)
	for _, v := range verdicts {
		switch {
		case v.Canary != (m != nil):
		case !v.Criterion.matches(criterion):
		case v.Output.matches(output):
			return v.Score, reasonMatch
		default:
			return 0, "the output does not match " + v.Output.String()
		}
	}
	if m != nil {
		if strings.Contains(output, m[1]) {
			return 10, reasonMatch
		}
		return 0, "the output does not contain it"
	}
	return 0, "the script has no verdict on this criterion"
}

// criteriaNames reads {name: true, …} or [name, …] in the order in which they were asked.
func criteriaNames(raw json.RawMessage) ([]string, error) {
	v, err := source.ParseJSON("expected_criteria", raw, 1)
	if err != nil {
		return nil, errors.New("expected_criteria is not JSON")
	}
	var names []string
	for _, f := range v.Fields {
		names = append(names, f.Name)
	}
	for _, item := range v.Items {
		names = append(names, item.Scalar)
	}
	return names, nil
}
