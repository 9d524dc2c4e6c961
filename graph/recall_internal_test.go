package graph

import (
	"context"
	"fmt"
	"strings"
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
	if known.leadsTo([]Record{{ID: "a"}}) || known.leadsTo([]Record{{ID: "a"}, {ID: "c"}}) ||
		!known.leadsTo([]Record{{ID: "a"}, {ID: "b"}, {ID: "c"}}) {
		t.Error("what is known is taken for what it is not")
	}
}

// What is recalled stays within its bound although turns add to it themselves, and it counts all that it keeps.
func TestRecallOfTurnsIsBounded(t *testing.T) {
	type talk struct{ Said []string }
	said := Append(func(s *talk) *[]string { return &s.Said })
	b := New("talk", said)
	b.Node("a", func(context.Context, talk) (Update[talk], error) { return nil, nil })
	b.Edge(Start, "a")
	b.Edge("a", End)
	g, err := b.Compile(Config{})
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", 1<<20)
	for turn := range 3 {
		for thread := range 40 {
			if _, err := g.Run(t.Context(), fmt.Sprint(thread), Update[talk]{said.Add(long)}, nil); err != nil {
				t.Fatal(err)
			}
		}
		sum := 0
		for _, known := range g.recall.threads {
			sum += known.weight()
			if held := len(known.state.Said) << 20; known.weight() < held {
				t.Errorf("a thread of %d bytes counts for %d", held, known.weight())
			}
		}
		if sum != g.recall.bytes || sum > maxRecalled || turn > 0 && len(g.recall.threads) == 0 {
			t.Errorf("after turn %d, %d threads of %d bytes are recalled, and count for %d", turn,
				len(g.recall.threads), sum, g.recall.bytes)
		}
	}
}
