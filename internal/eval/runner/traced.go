package runner

import (
	"context"
	"crypto/rand"

	"github.com/rehearse-dev/rehearse/internal/base/trace"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// traced begins the span of the conversation, in a trace of its own that has the id which its turns bear. That of a
// conversation that is graded again was sent when it was held.
func (h *activeConversation) traced(ctx context.Context) context.Context {
	name, id := trace.Conversation, h.ID
	if h.Regraded {
		name, id = trace.Regrade, rand.Text()
	}
	ctx = trace.Sharing(ctx, trace.A(trace.TestCaseID, h.Test.ID), trace.A(trace.ConversationID, h.ID))
	ctx, h.span = trace.Root(ctx, id, name)
	return ctx
}

// finish ends the span of the conversation. A record says what came of it; nil means that it was interrupted.
func (h *activeConversation) finish(ctx context.Context, t *result.Test) {
	if h.span == nil {
		return
	}
	h.span.Set(
		trace.A(trace.GenAIConversation, h.ID), trace.A(trace.SessionID, sessionOf(h)),
		trace.A(trace.Suite, h.Test.Suite), trace.A(trace.TargetName, h.TargetName),
		trace.A(trace.Trial, max(1, h.Trial)), trace.A(trace.Attempt, trace.AttemptOf(ctx)),
	)
	if t != nil {
		h.span.Set(trace.A(trace.Verdict, string(t.Verdict)))
		for _, s := range t.Scores {
			if s.Name == wholeName {
				evaluated(h.span, s)
			}
		}
		if t.Verdict == result.Error && len(t.Failures) > 0 {
			h.span.Set(trace.A(trace.ErrorType, string(t.Failures[0].Code)))
			h.span.Fail(t.Failures[0].Message)
		}
	}
	h.span.Finish()
}

func sessionOf(h *activeConversation) string {
	if h.sessionID != "" {
		return h.sessionID
	}
	return h.ID
}

// spanFailed ends the span of a turn that the user did not take.
func spanFailed(span *trace.Span, err error) {
	span.Rename(trace.UserTurn)
	if err != nil {
		span.Fail(err.Error())
	}
	span.Finish()
}

// evaluated adds an event for each assertion of a score.
func evaluated(span *trace.Span, s result.Score) {
	if span == nil {
		return
	}
	for _, a := range s.Assertions {
		label, value := "fail", 0.0
		if a.Passed {
			label, value = "pass", 1
		}
		if a.Score != nil {
			value = *a.Score
		}
		attributes := []trace.Attribute{
			trace.A(trace.EvaluationName, a.Grader), trace.A(trace.EvaluationScore, value),
			trace.A(trace.EvaluationLabel, label),
		}
		if span.Text() {
			why := a.Text
			if a.Evidence != "" {
				why += ": " + a.Evidence
			}
			attributes = append(attributes, trace.Text(trace.EvaluationReason, why))
		}
		span.Event(trace.Evaluation, attributes...)
	}
}
