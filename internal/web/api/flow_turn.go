package api

import (
	"context"
	"net/http"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
)

// turnFunc takes a turn and returns the body of the answer. Events during the turn go to sink, which may be nil.
type turnFunc func(ctx context.Context, sink func(flow.Event)) (any, error)

// answer takes a turn and answers with its result: as JSON or, if the client asks for it, as events while the turn goes
// on. If the client goes away, the turn is cancelled.
func (s *Flows) answer(w http.ResponseWriter, r *http.Request, take turnFunc) {
	if !wantsEvents(r) {
		body, err := s.guarded(r.Context(), take, nil)
		switch {
		case r.Context().Err() != nil: // the client has gone
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

// guarded takes a turn if there is room for one, and turns a panic into an error.
func (s *Flows) guarded(ctx context.Context, take turnFunc, sink func(flow.Event)) (body any, err error) {
	err = s.pass(ctx, func() (err error) {
		body, err = take(ctx, sink)
		return err
	})
	return body, err
}

// logTurn logs a turn: its IDs, its transition and its duration, and nothing that was said.
func (s *Flows) logTurn(ctx context.Context, flowID string, c *flow.Context, started time.Time, r *flow.Result,
	err error) {
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
		s.Log.WarnContext(ctx, "turn failed", append(fields, "status", p.Status, "code", p.Code, "error", err)...)
	}
}
