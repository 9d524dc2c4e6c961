package trace_test

import (
	"context"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	sdk "go.opentelemetry.io/otel/sdk/trace"

	"github.com/rehearse-dev/rehearse/internal/base/trace"
)

// TestParentWithoutTracer: requests belong to the conversation's trace, each with a span of its own, when nothing is
// kept.
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

// TestRemote: the trace of a caller is taken over where its traceparent is valid, and never anything else.
func TestRemote(t *testing.T) {
	const id, span = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	for _, tc := range []struct {
		parents []string
		taken   bool
	}{
		{[]string{"00-" + id + "-" + span + "-01"}, true},
		{[]string{"00-" + id + "-" + span + "-00"}, true},
		{[]string{"cc-" + id + "-" + span + "-01-what comes later"}, true},
		{[]string{"cc-" + id + "-" + span + "-01what"}, false},
		{[]string{"00-" + id + "-" + span + "-01-more"}, false},
		{[]string{"ff-" + id + "-" + span + "-01"}, false},
		{[]string{"00-" + strings.Repeat("0", 32) + "-" + span + "-01"}, false},
		{[]string{"00-" + id + "-0000000000000000-01"}, false},
		{[]string{"00-" + strings.ToUpper(id) + "-" + span + "-01"}, false},
		{[]string{"00-" + id[:31] + "g-" + span + "-01"}, false},
		{[]string{"00-" + id + "-" + span + "-0"}, false},
		{[]string{"00_" + id + "-" + span + "-01"}, false},
		{[]string{"00-" + id + "-" + span + "-01", "00-" + id + "-" + span + "-01"}, false},
		{[]string{""}, false},
		{[]string{strings.Repeat("-", 1<<16)}, false},
		{nil, false},
	} {
		r := httptest.NewRequest("POST", "/execute", nil)
		r.Header["Traceparent"] = tc.parents
		ctx, _ := trace.Start(trace.FromRequest(t.Context(), r), "turn")
		if got := trace.IDOf(ctx); (got == id) != tc.taken || len(got) != 32 {
			t.Errorf("%.100q gives the trace %s", tc.parents, got)
		}
		if parent := trace.Parent(ctx); strings.Contains(parent, span) ||
			tc.taken && parent[52:] != tc.parents[0][52:55] {
			t.Errorf("%.100q is passed on as %s", tc.parents, parent)
		}
	}
}

// TestSampled checks that spans below one that is not recorded are not recorded, and that the flags of requests say so.
func TestSampled(t *testing.T) {
	tracer, ended := recorded(sdk.ParentBased(sdk.NeverSample()), false)
	ctx := trace.With(t.Context(), tracer, nil)
	with := func(ctx context.Context, name string) (parent string) {
		ctx, s := trace.Start(ctx, name)
		inner, below := trace.Start(ctx, name+" below")
		below.Finish()
		s.Finish()
		return trace.Parent(inner)
	}
	parents := []string{
		with(ctx, "root"),
		with(trace.Remote(ctx, "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"), "called"),
		with(trace.Remote(ctx, "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"), "called softly"),
	}
	if got := ended(); len(got) != 2 || got[0].Name != "called below" || got[1].Name != "called" ||
		got[0].Parent.SpanID() != got[1].SpanContext.SpanID() {
		t.Errorf("the spans are %v", got)
	}
	for i, flags := range []string{"-00", "-01", "-00"} {
		if !strings.HasSuffix(parents[i], flags) {
			t.Errorf("parent %d is %s", i, parents[i])
		}
	}
	if ctx = trace.ForVisitor(ctx); with(ctx, "visitor") == "" || len(ended()) != 2 {
		t.Errorf("the spans are %v", ended())
	}
}

// TestCarry: what ends a conversation without its context belongs to its trace all the same.
func TestCarry(t *testing.T) {
	ctx, _ := trace.Root(trace.As(trace.Attempted(t.Context(), 3), trace.Judge), "c1", trace.Conversation)
	carried := trace.Carry(t.Context(), ctx)
	if trace.IDOf(carried) != trace.ID("c1") || trace.RoleOf(carried) != trace.Judge ||
		trace.AttemptOf(carried) != 3 || trace.AttemptOf(t.Context()) != 1 ||
		trace.RoleOf(t.Context()) != trace.Target || trace.IDOf(t.Context()) != "" {
		t.Errorf("carried are %s, %s, %d", trace.IDOf(carried), trace.RoleOf(carried), trace.AttemptOf(carried))
	}
}
