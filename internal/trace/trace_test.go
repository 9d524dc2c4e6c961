package trace_test

import (
	"regexp"
	"testing"

	"rehearse/internal/trace"
)

func TestParent(t *testing.T) {
	id := trace.ID("c1")
	if id != trace.ID("c1") || id == trace.ID("c2") || trace.ID("") == "" {
		t.Errorf("the trace ids are %s, %s, %s", id, trace.ID("c1"), trace.ID("c2"))
	}
	one, two := trace.Parent(id), trace.Parent(id)
	if one == two {
		t.Errorf("two requests have the span %s", one)
	}
	if !regexp.MustCompile(`^00-` + id + `-[0-9a-f]{16}-01$`).MatchString(one) {
		t.Errorf("traceparent is %s", one)
	}
}
