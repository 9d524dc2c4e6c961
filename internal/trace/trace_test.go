package trace_test

import (
	"context"
	"regexp"
	"testing"

	"rehearse/internal/trace"
)

// TestParentWithoutTracer: requests belong to the conversation's trace, each with a span of its own, when nothing is kept.
func TestParentWithoutTracer(t *testing.T) {
	id := trace.ID("c1")
	if id != trace.ID("c1") || id == trace.ID("c2") || trace.ID("") == "" {
		t.Errorf("the trace ids are %s, %s, %s", id, trace.ID("c1"), trace.ID("c2"))
	}
	ctx, span := trace.Root(t.Context(), "c1", trace.Conversation)
	if span != nil {
		t.Error("a span is kept")
	}
	request := func(ctx context.Context) string {
		ctx, _ = trace.Start(ctx, trace.Send)
		return trace.Parent(ctx)
	}
	one, two := request(ctx), request(ctx)
	if one == two {
		t.Errorf("two requests have the span %s", one)
	}
	if !regexp.MustCompile(`^00-` + id + `-[0-9a-f]{16}-01$`).MatchString(one) {
		t.Errorf("traceparent is %s", one)
	}
	if alone := request(t.Context()); !regexp.MustCompile(`^00-[0-9a-f]{32}-[0-9a-f]{16}-01$`).MatchString(alone) {
		t.Errorf("traceparent outside of a conversation is %s", alone)
	}
	if of := request(trace.Of(t.Context(), "c1")); of[:35] != one[:35] {
		t.Errorf("a request of the conversation without its context has %s", of)
	}
}
