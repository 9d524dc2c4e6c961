package server

import (
	"context"
	"net/http"
	"time"

	"rehearse/internal/flow"
)

// turnFunc takes a turn and returns the body of the answer. What happens meanwhile goes to sink, which may be nil.
type turnFunc func(ctx context.Context, sink func(flow.Event)) (any, error)

// answer takes a turn and answers with what it came to: as JSON or, where the client asks for it, as events while it happens.
// When the client goes away the turn is given up.
func (s *Flows) answer(w http.ResponseWriter, r *http.Request, take turnFunc) {
	if !wantsEvents(r) {
		body, err := s.guarded(r.Context(), take, nil)
		switch {
		case r.Context().Err() != nil: // nobody is there to be answered
		case err != nil:
			writeProblem(w, problemOf(err))
		default:
			writeBody(w, http.StatusOK, "application/json", body)
		}
		return
	}
	stream := &sse{w: w}
	body, err := s.guarded(r.Context(), take, func(e flow.Event) { stream.send(progressEvent(e)) })
	switch {
	case r.Context().Err() != nil:
	case err == nil:
		stream.send(completeEvent(body))
	case stream.begun:
		stream.send(errorEvent(problemOf(err)))
	default:
		writeProblem(w, problemOf(err))
	}
}

// guarded takes a turn when there is room for one, and survives its panic.
func (s *Flows) guarded(ctx context.Context, take turnFunc, sink func(flow.Event)) (body any, err error) {
	err = s.pass(ctx, func() (err error) {
		body, err = take(ctx, sink)
		return err
	})
	return body, err
}

// logTurn writes a line about a turn: its ids, where it led and how long it took, and nothing that was said.
func (s *Flows) logTurn(ctx context.Context, flowID string, c *flow.Context, started time.Time, r *flow.Result, err error) {
	fields := []any{
		"flow", clean(flowID), "node", clean(c.CurrentNodeID), "conversation_id", clean(c.ConversationID),
		"test_case_id", clean(c.TestCaseID), "duration_ms", time.Since(started).Milliseconds(),
	}
	switch {
	case err == nil:
		s.Log.InfoContext(ctx, "turn", append(fields, "trace_id", r.TraceID, "transition", r.Transition.Kind,
			"llm_calls", r.Usage.LLMCalls, "completed", r.FlowCompleted, "warnings", r.Warnings)...)
	case ctx.Err() != nil:
		s.Log.InfoContext(ctx, "turn given up: the client went away", fields...)
	default:
		p := problemOf(err)
		s.Log.WarnContext(ctx, "turn failed", append(fields, "status", p.Status, "code", p.Code, "error", p.Detail)...)
	}
}
