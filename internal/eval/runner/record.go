package runner

import (
	"slices"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// record returns the test's record from what was said and found.
func (h *activeConversation) record() *result.Test {
	t := &result.Test{
		Schema: result.Schema, Suite: h.Test.Suite, TestID: h.Test.ID, Trial: h.Trial, Threshold: h.threshold,
		Strict:         h.Test.Execution.IsStrict(),
		ConversationID: h.ID, SessionID: h.sessionID, EndedByAgent: h.ended,
		Scores: h.scores, Output: transcript(h.history), Turns: h.log, Failures: []result.Failure{}, Judge: h.judge,
		StartedAt: h.started.UTC(), DurationMS: milliseconds(h.Now().Sub(h.started)),
		Sampling: (*result.Sampling)(h.Test.Sampling), Tags: h.Test.Tags, Metadata: h.Test.Metadata,
		User: h.account(),
	}
	if t.Turns == nil {
		t.Turns = []result.Turn{}
	}
	t.Cost = h.judge.Cost
	for _, turn := range h.log {
		t.Usage = t.Usage.Add(turn.Usage)
		t.Cost = t.Cost.Add(turn.Cost)
	}
	scores, graded := make([]float64, 0, len(h.scores)), make([]float64, 0, len(h.scores))
	for i, s := range h.scores {
		scores = append(scores, s.Score)
		if s.Name == wholeName || len(h.turns[i]) > 0 {
			graded = append(graded, s.Score)
		}
		if s.Verdict == result.Fail || s.Verdict == result.Error {
			t.Failures = append(t.Failures, s.Failures...)
		}
	}
	if h.failed != nil && !slices.Contains(t.Failures, *h.failed) {
		t.Failures = append(t.Failures, *h.failed) // that belongs to no item
	}
	result.SortFailures(t.Failures)
	switch {
	case h.spoiled != nil: // what was graded before belongs to another test
		t.Verdict, t.ExecutionStatus, t.SkipReason = result.Skip, result.OK, h.spoiled.Error()
		t.Failures = []result.Failure{}
	case h.failed != nil || h.undecided:
		t.Verdict, t.ExecutionStatus = result.Error, result.ExecutionError
	default:
		t.Score = h.Test.Aggregation.Of(scores)
		if len(graded) > 0 {
			t.GradedScore = new(h.Test.Aggregation.Of(graded))
		}
		t.Verdict, t.ExecutionStatus = result.Decide(t.Score, t.GradedScore, h.threshold, h.Test.Execution.IsStrict() &&
			anyFailed(h.scores))
	}
	return t
}

func anyFailed(items []result.Score) bool {
	return slices.ContainsFunc(items, func(s result.Score) bool { return s.Verdict == result.Fail })
}

// transcript returns what was said without system messages.
func transcript(history []chat.Message) []chat.Message {
	said := make([]chat.Message, 0, len(history))
	for _, m := range history {
		if m.Role != chat.System {
			said = append(said, m)
		}
	}
	return said
}
