package trace_test

import (
	"strings"
	"testing"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/rehearse-dev/rehearse/internal/base/trace"
)

// recorded returns a tracer, and a function that returns the spans that have ended.
func recorded(sampler sdk.Sampler, text bool) (*trace.Tracer, func() tracetest.SpanStubs) {
	ended := tracetest.NewInMemoryExporter()
	provider := sdk.NewTracerProvider(sdk.WithSampler(sampler), sdk.WithSyncer(ended))
	return &trace.Tracer{Tracer: provider.Tracer("test"), Text: text}, ended.GetSpans
}

// TestMasks checks that message text is masked by more than names are, in full and before it is cut.
func TestMasks(t *testing.T) {
	tracer, ended := recorded(sdk.AlwaysSample(), true)
	replacing := func(what string) func(string) string {
		return func(s string) string { return strings.ReplaceAll(s, what, "***") }
	}
	ctx := trace.Masked(trace.With(t.Context(), tracer, nil), replacing("secret"), replacing("secret or private"))
	_, s := trace.Start(ctx, "a secret", trace.A("name", "private secret"),
		trace.Text("text", strings.Repeat("x", 32<<10-3)+"secret or private"))
	s.Event("e", trace.Text("text", "secret or private"))
	s.Fail("secret or private")
	s.Finish()
	got := ended()[0]
	if got.Name != "a ***" || got.Attributes[0].Value.AsString() != "private ***" ||
		got.Events[0].Attributes[0].Value.AsString() != "***" || got.Status.Description != "***" {
		t.Errorf("the span is %q %v %v %v", got.Name, got.Attributes[0], got.Events, got.Status)
	}
	if long := got.Attributes[1].Value.AsString(); len(long) != 32<<10 || !strings.HasSuffix(long, "x***") {
		t.Errorf("the text ends with %q", long[len(long)-10:])
	}
}

// TestTextNeedsPermission checks that message text is recorded only where the tracer allows it.
func TestTextNeedsPermission(t *testing.T) {
	tracer, ended := recorded(sdk.AlwaysSample(), false)
	_, s := trace.Start(trace.With(t.Context(), tracer, nil), "a", trace.Text("text", "hello"))
	s.Event("e", trace.Text("text", "hello"))
	s.Fail("hello")
	s.Finish()
	if got := ended()[0]; len(got.Attributes)+len(got.Events[0].Attributes)+len(got.Status.Description) > 0 {
		t.Errorf("the span has %v %v %q", got.Attributes, got.Events, got.Status.Description)
	}
}

// TestNoTracerCostsNothing checks that a span below a conversation allocates nothing without a tracer.
func TestNoTracerCostsNothing(t *testing.T) {
	ctx, _ := trace.Root(t.Context(), "c1", trace.Conversation)
	if n := testing.AllocsPerRun(100, func() {
		ctx, s := trace.Start(ctx, trace.Turn)
		_, below := trace.StartKind(ctx, trace.Client, trace.Send)
		trace.Called(ctx, "look", 1, nil, nil)
		below.Finish()
		s.Finish()
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
