package grader

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Judge is a model that graders ask. Implementations are safe for concurrent use.
type Judge interface {
	// Decide returns the judge's verdict, which answers every criterion of the question. An error means that there is
	// no verdict; it never counts as a failing score.
	Decide(ctx context.Context, q Question) (Verdict, error)
}

// Mode is the form of answer that a question wants.
type Mode string

// The modes of a question.
const (
	Checklist Mode = "checklist" // each rubric satisfied or not, or scored 0..10 where it has ranges
	Criteria  Mode = "criteria"  // a score between 0 and 1 per named criterion
	Free      Mode = "free"      // one score between 0 and 1
	Compare   Mode = "compare"   // which of two answers is better: 1 for Output, 0 for Other, 0.5 for neither
)

// Question is what a judge is asked about one exchange.
type Question struct {
	Mode Mode
	// Task is the author's own prompt. It holds nothing of the exchange: {{input}} and {{output}} in it stand for the
	// fields.
	Task string
	// Fields are the fields that the judge of a Task gets: input, output, criteria, expected_output. Nil means all that
	// there are.
	Fields []string
	Input  []chat.Message
	Output string
	// ToolCalls are the calls that the agent made for Output, or in the whole conversation, with their results.
	ToolCalls []chat.ToolCall
	// Other is the second answer of mode Compare.
	Other    string
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

// Unanswered returns the criteria that a verdict leaves out: ids of rubrics or names.
func (q Question) Unanswered(v Verdict) []string {
	var left []string
	switch q.Mode {
	case Checklist:
		for _, r := range q.Rubrics {
			if _, ok := v.Checks[r.ID]; !ok {
				left = append(left, r.ID)
			}
		}
	case Criteria:
		for _, name := range q.Names {
			if _, ok := v.Scores[name]; !ok {
				left = append(left, name)
			}
		}
	}
	return left
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
	// Checks holds the answers by rubric ID.
	Checks map[string]RubricCheck `json:"checks,omitempty"`
	// Scores holds the answers of mode Criteria, each between 0 and 1.
	Scores map[string]float64 `json:"scores,omitempty"`
	// Score is the answer of modes Free and Compare.
	Score     float64         `json:"score"`
	Reasoning string          `json:"reasoning,omitempty"`
	Use       result.JudgeUse `json:"-"`
	// Orders has the answers of mode Compare with Output in the first place, and with Output in the second.
	Orders *[2]float64 `json:"-"`
	// Samples are the votes that this verdict was made of, in the order in which they were asked; nil for a single one.
	Samples []Sample `json:"-"`
}

// Sample is one vote: what one model said, or why there is none.
type Sample struct {
	Model   string
	Verdict Verdict
	// Err is nil when there is a verdict.
	Err error
}

// maxReasoning is how many characters of each vote's reasoning are kept.
const maxReasoning = 1_000

// poll records on an assertion what each vote says of it: of returns its score and its reasoning.
func (v Verdict) poll(a *result.Assertion, of func(Verdict) (float64, string)) {
	for _, sample := range v.Samples {
		voter := result.Voter{Model: sample.Model}
		if sample.Err != nil {
			voter.Missing = text.Clip(sample.Err.Error(), maxReasoning)
		} else {
			score, reasoning := of(sample.Verdict)
			voter.Score, voter.Reasoning = &score, text.Clip(reasoning, maxReasoning)
		}
		a.Votes, a.Voters = append(a.Votes, voter.Score), append(a.Voters, voter)
	}
	if differ := func(score *float64) bool {
		return score == nil || *score != *a.Votes[0]
	}; slices.ContainsFunc(a.Votes, differ) {
		a.Evidence = strings.TrimSpace(a.Evidence + " (votes " + tally(a.Votes) + ")")
	}
}

// tally lists votes.
func tally(votes []*float64) string {
	shown := make([]string, len(votes))
	for i, score := range votes {
		if shown[i] = "missing"; score != nil {
			shown[i] = strconv.FormatFloat(math.Round(*score*100)/100, 'f', -1, 64)
		}
	}
	return strings.Join(shown, ", ")
}

// tied reports whether as many votes say yes as no, and none is missing.
func tied(votes []*float64) bool {
	yes := 0
	for _, score := range votes {
		if score == nil {
			return false
		}
		yes += int(*score)
	}
	return len(votes) > 0 && 2*yes == len(votes)
}

// RubricCheck is the answer to one rubric: Score is 0..10 for a rubric with ranges, else Satisfied counts.
type RubricCheck struct {
	Satisfied bool    `json:"satisfied"`
	Score     float64 `json:"score"`
	Reasoning string  `json:"reasoning,omitempty"`
}
