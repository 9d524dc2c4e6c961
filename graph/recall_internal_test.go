package graph

import (
	"fmt"
	"testing"
)

// What is recalled is bounded, whether it is large or many, and never more than a hint.
func TestRecallIsBounded(t *testing.T) {
	r := recall[struct{}]{}
	for i := range 100_000 {
		r.remember(fmt.Sprint(i), recalled[struct{}]{last: Record{ID: "1"}, records: 1, bytes: i % 7})
	}
	if n := len(r.threads); r.bytes > maxRecalled || n < 20_000 || n > maxRecalled>>10 {
		t.Errorf("%d threads of %d bytes are recalled", n, r.bytes)
	}
	r.remember("large", recalled[struct{}]{bytes: maxRecalled})
	r.remember("small", recalled[struct{}]{last: Record{ID: "2"}, bytes: 1})
	if _, there := r.threads["large"]; there || r.bytes > maxRecalled {
		t.Errorf("the large one is recalled, %d bytes", r.bytes)
	}
	for name := range r.threads {
		r.forget(name)
	}
	if r.bytes != 0 || len(r.threads) != 0 {
		t.Errorf("%d bytes of %d threads are left", r.bytes, len(r.threads))
	}
	known := recalled[struct{}]{last: Record{ID: "b"}, records: 2}
	if known.leadsTo([]Record{{ID: "a"}}) || known.leadsTo([]Record{{ID: "a"}, {ID: "c"}}) || !known.leadsTo([]Record{{ID: "a"}, {ID: "b"}, {ID: "c"}}) {
		t.Error("what is known is taken for what it is not")
	}
}
