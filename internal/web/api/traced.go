package api

import (
	"context"
	"net/http"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
	"github.com/rehearse-dev/rehearse/internal/base/trace"
)

// flowTurn begins the span of a turn of a flow, in the trace of its caller. The request that it returns has the span's
// context.
func flowTurn(r *http.Request, conversation, testCase string) (*http.Request, *trace.Span) {
	ctx := trace.FromRequest(r.Context(), r)
	for name, id := range map[string]string{trace.ConversationID: conversation, trace.TestCaseID: testCase} {
		if id != "" {
			ctx = trace.Sharing(ctx, trace.A(name, id))
		}
	}
	ctx, span := trace.StartKind(ctx, trace.Server, trace.Turn)
	return r.WithContext(ctx), span
}

// chatTurn begins the span of a visitor's turn.
func chatTurn(ctx context.Context, asked sitebot.Request) (context.Context, *trace.Span) {
	ctx, span := trace.StartKind(ctx, trace.Server, trace.ChatTurn, trace.A(trace.SessionID, asked.Session),
		trace.A(trace.Site, asked.Site))
	if asked.PersonID != "" {
		span.Set(trace.A(trace.UserID, asked.PersonID))
	}
	if span.Text() {
		span.Set(trace.Text(trace.Input, asked.Input))
	}
	return ctx, span
}

// chatEnded ends the span of a visitor's turn.
func chatEnded(span *trace.Span, out *sitebot.Outcome, err error) {
	defer span.Finish()
	switch {
	case err != nil:
		span.Fail(err.Error())
		return
	case span == nil:
		return
	}
	m := out.Metadata
	span.Set(trace.A(trace.TurnNumber, m.TurnNumber+1), trace.A(trace.Route, string(m.Route)))
	for name, value := range map[string]string{trace.Action: string(m.Action), trace.Intent: string(m.Intent)} {
		if value != "" {
			span.Set(trace.A(name, value))
		}
	}
	if span.Text() {
		span.Set(trace.Text(trace.Output, out.Response))
	}
}

// flowTurnEnded tells of the turn of a flow what came of it.
func flowTurnEnded(ctx context.Context, span *trace.Span, number int, r *flow.Result) {
	if r == nil {
		return
	}
	span.Set(trace.A(trace.TurnNumber, number))
	for _, call := range r.ToolCalls {
		trace.Called(ctx, call.Name, call.LatencyMS, call.Args, call.Result)
	}
}

// spanEnded ends the span of a turn.
func spanEnded(span *trace.Span, err error) {
	if err != nil {
		span.Fail(err.Error())
	}
	span.Finish()
}
