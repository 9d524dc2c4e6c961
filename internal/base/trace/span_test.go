package trace_test

import (
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/trace"
)

// TestMasks: what was said is masked by more than names are, whole and before it is cut.
func TestMasks(t *testing.T) {
	var ended *trace.Span
	tracer := &trace.Tracer{Record: func(s *trace.Span) { ended = s }, Sample: func([16]byte, *trace.IDs) bool { return true }, Text: true}
	replacing := func(what string) func(string) string {
		return func(s string) string { return strings.ReplaceAll(s, what, "***") }
	}
	ctx := trace.Masked(trace.With(t.Context(), tracer, nil), replacing("secret"), replacing("secret or private"))
	_, s := trace.Start(ctx, "a secret", trace.A("name", "private secret"), trace.Text("said", strings.Repeat("x", 32<<10-3)+"secret or private"))
	s.Event("e", trace.Text("said", "secret or private"))
	s.Fail("secret or private")
	s.Finish()
	if ended.Name != "a ***" || ended.Attributes[0].Value != "private ***" || ended.Events[0].Attributes[0].Value != "***" || ended.Message != "***" {
		t.Errorf("the span is %q %v %v %q", ended.Name, ended.Attributes[0], ended.Events, ended.Message)
	}
	if said, _ := ended.Attributes[1].Value.(string); len(said) != 32<<10 || !strings.HasSuffix(said, "x***") {
		t.Errorf("what was said ends with %q", said[len(said)-10:])
	}
}
