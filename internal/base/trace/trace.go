// Package trace records the spans of a process with OpenTelemetry, and has the headers by which an agent recognizes a
// conversation: its id, and the W3C trace context (https://www.w3.org/TR/trace-context/#traceparent-header).
//
// A span starts below the span of its context and is recorded by the context's Tracer. Without a tracer there are no
// spans; requests belong to the trace of their conversation all the same.
package trace

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"net/http"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// The names of the headers.
const (
	ConversationHeader = "X-Conversation-Id"
	ParentHeader       = "traceparent"
)

// ID returns the trace id of a conversation: 32 hexadecimal digits, the same for the same conversation.
func ID(conversationID string) string { return idOf(conversationID).String() }

func idOf(conversationID string) trace.TraceID {
	sum := sha256.Sum256([]byte(conversationID))
	sum[0] |= 1 // an id of zeros only is invalid
	return trace.TraceID(sum[:16])
}

// Parent returns the traceparent of a request: the span of ctx. Where ctx has no span that this process records, the
// span id is a new one for each request, in the trace of ctx if there is one.
func Parent(ctx context.Context) string {
	span := trace.SpanContextFromContext(ctx)
	if !span.IsValid() || span.IsRemote() {
		var id trace.SpanID
		_, _ = rand.Read(id[:]) // never fails
		id[0] |= 1
		span = trace.SpanContextFromContext(inSomeTrace(ctx)).WithSpanID(id)
	}
	flags := span.TraceFlags() & trace.FlagsSampled
	return "00-" + span.TraceID().String() + "-" + span.SpanID().String() + "-" + flags.String()
}

// Remote returns a context whose spans belong to the trace of a traceparent; ctx itself if that is invalid.
func Remote(ctx context.Context, parent string) context.Context {
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{ParentHeader: parent})
}

// FromRequest is Remote with the traceparent of a request. A request with several of them has none.
func FromRequest(ctx context.Context, r *http.Request) context.Context {
	if values := r.Header.Values(ParentHeader); len(values) == 1 {
		return Remote(ctx, values[0])
	}
	return ctx
}

// Of returns a context for what belongs to a conversation: ctx itself if it has the conversation's trace already.
func Of(ctx context.Context, conversationID string) context.Context {
	id := idOf(conversationID)
	if trace.SpanContextFromContext(ctx).TraceID() == id {
		return ctx
	}
	return inTrace(ctx, id)
}

// inTrace returns a context without a span, whose spans are the roots of a trace.
func inTrace(ctx context.Context, id trace.TraceID) context.Context {
	root := trace.NewSpanContext(trace.SpanContextConfig{TraceID: id, TraceFlags: trace.FlagsSampled})
	return trace.ContextWithSpanContext(ctx, root)
}

// inSomeTrace returns ctx, or a context with a new trace if ctx has none.
func inSomeTrace(ctx context.Context) context.Context {
	if trace.SpanContextFromContext(ctx).HasTraceID() {
		return ctx
	}
	var id trace.TraceID
	_, _ = rand.Read(id[:]) // never fails
	id[0] |= 1
	return inTrace(ctx, id)
}

// IDOf returns the trace id of ctx; empty without one.
func IDOf(ctx context.Context) string {
	if span := trace.SpanContextFromContext(ctx); span.HasTraceID() {
		return span.TraceID().String()
	}
	return ""
}
