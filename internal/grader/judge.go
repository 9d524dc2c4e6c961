package grader

import (
	"context"

	"rehearse/internal/chat"
	"rehearse/internal/result"
)

// Judge is a model that graders ask. Implementations are safe for concurrent use.
type Judge interface {
	// Ask returns the judge's verdict. An error means that there is no verdict; it never counts as a failing score.
	Ask(ctx context.Context, q Question) (Verdict, error)
}

// Mode is the form of answer that a question wants.
type Mode string

// The modes of a question.
const (
	Checklist Mode = "checklist" // each rubric satisfied or not, or scored 0..10 where it has ranges
	Criteria  Mode = "criteria"  // a score between 0 and 1 per named criterion
	Free      Mode = "free"      // one score between 0 and 1
)

// Question is what a judge is asked about one exchange.
type Question struct {
	Mode Mode
	// Task is the author's own prompt. It holds nothing of the exchange: {{input}} and {{output}} in it stand for the fields.
	Task string
	// Fields are the fields that the judge of a Task gets: input, output, criteria, expected_output. Nil means all that there are.
	Fields   []string
	Input    []chat.Message
	Output   string
	Expected string
	Criteria string
	Rubrics  []Rubric
	// Names are the criteria of mode Criteria. Context is an excerpt, such as a node's prompt or facts.
	Names   []string
	Context string
	// Reference is the expected output for mode Criteria, Meanings explain its criteria; both are optional.
	Reference string
	Meanings  map[string]string
}

// Rubric is one criterion of a checklist.
type Rubric struct {
	ID       string  `json:"id"`
	Outcome  string  `json:"outcome"`
	Operator string  `json:"operator,omitempty"`
	Ranges   []Range `json:"score_ranges,omitempty"`
}

// Range gives the meaning of the scores from Low to High, both included and within 0..10.
type Range struct {
	Ends    [2]int `json:"score_range"`
	Outcome string `json:"outcome"`
}

// Verdict is a judge's answer.
type Verdict struct {
	// Checks holds the answers by rubric ID; a rubric that the judge left out is absent.
	Checks map[string]RubricCheck `json:"checks,omitempty"`
	// Scores holds the answers of mode Criteria, each between 0 and 1.
	Scores map[string]float64 `json:"scores,omitempty"`
	// Score is the answer of mode Free.
	Score     float64         `json:"score"`
	Reasoning string          `json:"reasoning,omitempty"`
	Use       result.JudgeUse `json:"-"`
	// Samples are the verdicts that this one was made of, in the order in which they were asked; nil for a single one.
	Samples []Verdict `json:"-"`
}

// votes returns a score of each sample.
func (v Verdict) votes(of func(Verdict) float64) []float64 {
	var votes []float64
	for _, sample := range v.Samples {
		votes = append(votes, of(sample))
	}
	return votes
}

// RubricCheck is the answer to one rubric: Score is 0..10 for a rubric with ranges, else Satisfied counts.
type RubricCheck struct {
	Satisfied bool    `json:"satisfied"`
	Score     float64 `json:"score"`
	Reasoning string  `json:"reasoning,omitempty"`
}
