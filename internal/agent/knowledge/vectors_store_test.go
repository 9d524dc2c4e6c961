package knowledge_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/agent/knowledge"
	"github.com/rehearse-dev/rehearse/internal/testkit/race"
)

func TestVectorsOfModelsAreNotMixed(t *testing.T) {
	t.Chdir(write(t, t.TempDir(), garage))
	s := keptStore(t)
	var said told
	first, second := &meanings{}, &meanings{salt: "2", size: 64}
	add(t, s.Knowledge(withVectors(first, &said)), "shop", "shop")
	k := s.Knowledge(withVectors(second, &said))
	if got := find(t, k, "automobile", "shop"); got != "" || second.texts.Load() != 0 {
		t.Errorf("a model without vectors found %q", got)
	}
	if done := add(t, k, "shop", "shop/c.txt"); done.Embedded != 3 {
		t.Errorf("the second model: %+v", done)
	}
	for _, m := range []*meanings{first, second} {
		if got := find(t, s.Knowledge(withVectors(m, &said)), "automobile", "shop"); !strings.HasPrefix(got,
			"shop/a.txt#1") {
			t.Errorf("%q found %q", m.salt, got)
		}
	}
	other := s.Knowledge(withVectors(&meanings{size: 8}, &said)) // the same name, other vectors
	write(t, ".", map[string]string{"new.txt": "new"})
	done := add(t, other, "shop", "new.txt")
	if done.EmbedError == nil ||
		!strings.Contains(done.EmbedError.Error(), "its vectors have 8 numbers, and those in the store have 1024") {
		t.Errorf("vectors of another size: %v", done.EmbedError)
	}
	if got := find(t, other, "insurance", "shop"); got != "shop/a.txt#1" || !strings.Contains(said.all(), "8 numbers") {
		t.Errorf("found %q, told %q", got, said.all())
	}
	if _, err := s.Knowledge().Remove(t.Context(), "shop"); err != nil {
		t.Fatal(err)
	}
	if done := add(t, other, "shop", "shop"); done.EmbedError != nil || find(t, other, "vehicle", "shop") == "" {
		t.Errorf("with no vectors left: %+v", done)
	}
}

func TestReplacedFilesLoseTheirVectors(t *testing.T) {
	t.Chdir(write(t, t.TempDir(), garage))
	s := keptStore(t)
	var said told
	m := &meanings{}
	k := s.Knowledge(withVectors(m, &said))
	add(t, k, "shop", "shop")
	if got := find(t, k, "automobile", "shop"); got != "shop/a.txt#1" {
		t.Fatalf("found %q", got)
	}
	asked := m.texts.Load()
	if done := add(t, k, "shop", "shop"); done.Embedded != 0 || m.texts.Load() != asked ||
		find(t, k, "automobile", "shop") != "shop/a.txt#1" {
		t.Errorf("the same again: %+v, %d texts embedded", done, m.texts.Load()-asked)
	}
	write(t, ".", map[string]string{"shop/a.txt": "buy a boat\n"})
	if done := add(t, s.Knowledge(), "shop", "shop/a.txt"); done.Replaced != 1 || done.Embedded != 0 {
		t.Errorf("replaced without an embedder: %+v", done)
	}
	if got := find(t, k, "automobile", "shop"); got != "" {
		t.Errorf("after replacing found %q", got)
	}
	add(t, k, "shop", "shop/c.txt")
	if got := find(t, k, "purchase", "shop"); got != "shop/a.txt#1" {
		t.Errorf("after embedding found %q", got)
	}
	if _, err := k.Remove(t.Context(), "shop", "shop/a.txt"); err != nil {
		t.Fatal(err)
	}
	if got := find(t, k, "purchase", "shop"); got != "" {
		t.Errorf("after removing found %q", got)
	}
}

// lines returns n passages, each with a word of its own.
func lines(n int) map[string]string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"id":"%d","text":"thing number%d"}`+"\n", i, i)
	}
	return map[string]string{"b.jsonl": b.String()}
}

func TestEmbeddingGoesOn(t *testing.T) {
	t.Chdir(write(t, t.TempDir(), lines(500)))
	s := keptStore(t)
	var said told
	var mu sync.Mutex
	calls, most := 0, 0
	m := &meanings{fails: func(_ context.Context, texts []string) error {
		mu.Lock()
		defer mu.Unlock()
		calls, most = calls+1, max(most, len(texts))
		if calls == 6 {
			return errors.New("enough for today")
		}
		return nil
	}}
	k := s.Knowledge(withVectors(m, &said))
	done := add(t, k, "b", "b.jsonl")
	if done.EmbedError == nil || done.Embedded < 5*64 || done.Embedded+done.Unembedded != 500 ||
		int64(done.Embedded) != m.texts.Load() {
		t.Errorf("a failing request: %+v, %d embedded", done, m.texts.Load())
	}
	if rest := add(t, k, "b", "b.jsonl"); rest.Embedded != done.Unembedded || rest.EmbedError != nil ||
		m.texts.Load() != 500 || most != 64 {
		t.Errorf("going on after %+v: %+v, %d embedded, up to %d at once", done, rest, m.texts.Load(), most)
	}
}

func TestSearchWhileEmbedding(t *testing.T) {
	passages := 500
	if race.Enabled {
		passages = 100
	}
	t.Chdir(write(t, t.TempDir(), lines(passages)))
	var said told
	k := keptStore(t).Knowledge(withVectors(&meanings{}, &said))
	add(t, k, "b", "b.jsonl")
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 20 {
				if got := find(t, k, "number7", "b"); !strings.HasPrefix(got, "7") {
					t.Errorf("found %.40q", got)
				}
			}
		})
	}
	for range 5 {
		add(t, k, "b", "b.jsonl")
	}
	group.Wait()
	if said.all() != "" {
		t.Error(said.all())
	}
}

// odd answers with the vectors that it has, whatever it is asked.
type odd [][]float64

func (o odd) Embed(context.Context, []string) ([][]float64, error) { return o, nil }

func TestOddVectorsAreRefused(t *testing.T) {
	t.Chdir(write(t, t.TempDir(), map[string]string{"a.jsonl": lines(2)["b.jsonl"]}))
	for _, tc := range []struct {
		answer odd
		want   string
	}{
		{odd{{1}}, "1 vectors for 2 texts"},
		{odd{{1, 2}, {1}}, "2 and 1 numbers"},
		{odd{{}, {}}, "a vector of 0 numbers"},
		{odd{{1}, {math.NaN()}}, "a vector has a number that is not finite"},
		{odd{{1}, {math.Inf(1)}}, "a vector has a number that is not finite"},
		{odd{{0}, {1e300}}, ""},
	} {
		k := keptStore(t).Knowledge(knowledge.WithVectors(knowledge.Vectors{Model: "odd", Embedder: tc.answer}))
		done := add(t, k, "b", "a.jsonl")
		if got := fmt.Sprint(done.EmbedError); tc.want == "" && done.EmbedError != nil ||
			!strings.HasSuffix(got, tc.want) && tc.want != "" {
			t.Errorf("%v: %s", tc.answer, got)
		}
		if got := find(t, k, "number1", "b"); got != "1" {
			t.Errorf("%v: found %q", tc.answer, got)
		}
	}
}

func BenchmarkSearchWithVectors(b *testing.B) {
	for _, n := range []int{10_000, 50_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.Chdir(write(b, b.TempDir(), map[string]string{"b.jsonl": prose(n)}))
			k := keptStore(b).Knowledge(knowledge.WithVectors(knowledge.Vectors{
				Model: "m", Embedder: &meanings{size: 384},
			}))
			if done := add(b, k, "b", "b.jsonl"); done.EmbedError != nil {
				b.Fatal(done.EmbedError)
			}
			find(b, k, "w5000", "b") // reads the vectors
			for _, q := range questions {
				b.Run(q.name, func(b *testing.B) {
					for b.Loop() {
						if found, err := k.Search(b.Context(), flow.Query{
							Text: q.text, Bases: []string{"b"}, TopK: 5,
						}); len(found) != 5 || err != nil {
							b.Fatal(len(found), err)
						}
					}
				})
			}
		})
	}
}
