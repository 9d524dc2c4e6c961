package runner

import (
	"context"
	"time"

	"rehearse/internal/chat"
	"rehearse/internal/result"
	"rehearse/internal/trace"
)

// traced begins the span of the conversation, in a trace of its own that has the id which its turns bear.
func (h *held) traced(ctx context.Context) context.Context {
	ctx = trace.Sharing(ctx, trace.A(trace.TestCaseID, h.Test.ID), trace.A(trace.ConversationID, h.ID))
	ctx, h.span = trace.Root(ctx, h.ID, trace.Conversation)
	return ctx
}

// finish ends the span of the conversation. A record says what came of it; nil means that it was interrupted.
func (h *held) finish(ctx context.Context, t *result.Test) {
	if h.span == nil {
		return
	}
	h.span.Set(
		trace.A(trace.GenAIConversation, h.ID), trace.A(trace.SessionID, sessionOf(h)), trace.A(trace.Suite, h.Test.Suite),
		trace.A(trace.TargetName, h.TargetName), trace.A(trace.Trial, h.Trial), trace.A(trace.Attempt, trace.AttemptOf(ctx)),
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

func sessionOf(h *held) string {
	if h.sessionID != "" {
		return h.sessionID
	}
	return h.ID
}

// unsaid ends the span of a turn that the user did not take.
func unsaid(span *trace.Span, err error) {
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
			trace.A(trace.EvaluationName, a.Grader), trace.A(trace.EvaluationScore, value), trace.A(trace.EvaluationLabel, label),
		}
		if span.Text() {
			why := a.Text
			if a.Evidence != "" {
				why += ": " + a.Evidence
			}
			attributes = append(attributes, trace.A(trace.EvaluationReason, why))
		}
		span.Event(trace.Evaluation, attributes...)
	}
}

// calledTools adds a span for each tool that was called in a turn. How long most of them took is not known: they end with the turn's reply.
func calledTools(ctx context.Context, calls []chat.ToolCall) {
	for _, call := range calls {
		_, span := trace.Start(ctx, trace.ExecuteTool+" "+call.Name, trace.A(trace.Operation, trace.ExecuteTool), trace.A(trace.ToolName, call.Name))
		if span == nil {
			return
		}
		span.Start = span.Start.Add(-time.Duration(max(0, call.LatencyMS) * float64(time.Millisecond)))
		if span.Text() {
			span.Set(trace.A(trace.ToolArguments, string(call.Args)), trace.A(trace.ToolResult, string(call.Result)))
		}
		span.Finish()
	}
}
