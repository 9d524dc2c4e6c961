package knowledge_test

import (
	"context"
	"errors"
	"hash/fnv"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/agent/knowledge"
	"github.com/rehearse-dev/rehearse/internal/run/store"
)

// meanings is an embedder that knows a few words with the same meaning. Every meaning is a direction.
type meanings struct {
	texts atomic.Int64
	// salt makes another model of it.
	salt string
	size int
	// fails is asked before each request, if it is set.
	fails func(ctx context.Context, texts []string) error
}

var synonyms = map[string]string{
	"automobile": "car", "vehicle": "car", "purchase": "buy", "refund": "money", "reimbursement": "money",
	"lorry": "truck",
}

func (m *meanings) Embed(ctx context.Context, texts []string) ([][]float64, error) {
	if m.fails != nil {
		if err := m.fails(ctx, texts); err != nil {
			return nil, err
		}
	}
	m.texts.Add(int64(len(texts)))
	vectors := make([][]float64, len(texts))
	for i, text := range texts {
		vectors[i] = make([]float64, m.dims())
		for word := range strings.FieldsSeq(strings.ToLower(text)) {
			if same, ok := synonyms[word]; ok {
				word = same
			}
			h := fnv.New32a()
			h.Write([]byte(m.salt + word))
			vectors[i][h.Sum32()%uint32(m.dims())]++
		}
	}
	return vectors, nil
}

func (m *meanings) dims() int {
	if m.size == 0 {
		return 1024
	}
	return m.size
}

// told keeps what Vectors.Failed was told.
type told struct {
	mu     sync.Mutex
	errors []error
}

func (t *told) failed(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.errors = append(t.errors, err)
}

func (t *told) all() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := errors.Join(t.errors...); err != nil {
		return err.Error()
	}
	return ""
}

var garage = map[string]string{
	"shop/a.txt": "car insurance details\n", "shop/b.txt": "money back rules\n", "shop/c.txt": "opening hours today\n",
}

func withVectors(m *meanings, said *told) knowledge.Option {
	return knowledge.WithVectors(knowledge.Vectors{Model: "m" + m.salt, Embedder: m, Failed: said.failed})
}

func keptStore(t testing.TB) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "store.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

func TestSearchFindsByMeaning(t *testing.T) {
	t.Chdir(write(t, t.TempDir(), garage))
	s := keptStore(t)
	var said told
	k := s.Knowledge(withVectors(&meanings{}, &said))
	done := add(t, k, "shop", "shop")
	if d := cmp.Diff(knowledge.Added{Files: 3, Passages: 3, Embedded: 3}, done); d != "" {
		t.Errorf("Add (-want +got):\n%s", d)
	}
	inFolder, err := knowledge.Open(t.Context(), ".", withVectors(&meanings{}, &said))
	if err != nil {
		t.Fatal(err)
	}
	defer inFolder.Close()
	for query, want := range map[string]string{
		"automobile":      "shop/a.txt#1",              // no word of it is anywhere
		"reimbursement":   "shop/b.txt#1",              //
		"opening vehicle": "shop/c.txt#1 shop/a.txt#1", // first by words, second by meaning
	} {
		for name, k := range map[string]*knowledge.Library{"store": k, "folder": inFolder} {
			if got := find(t, k, query, "shop"); got != want {
				t.Errorf("%s: %s found %q, want %q", name, query, got, want)
			}
		}
		if got := find(t, s.Knowledge(), query, "shop"); strings.Contains(got, "a.txt") ||
			strings.Contains(got, "b.txt") {
			t.Errorf("by words only, %s found %q", query, got)
		}
	}
	found, err := k.Search(t.Context(), flow.Query{Text: "opening hours", Bases: []string{"shop"}, TopK: 1})
	if len(found) != 1 || found[0].Score != 1 || found[0].Text != "opening hours today" || err != nil {
		t.Errorf("first in both rankings: %v, %v", found, err)
	}
	if said.all() != "" {
		t.Errorf("told %s", said.all())
	}
}

func TestSearchWithoutItsEmbedder(t *testing.T) {
	t.Chdir(write(t, t.TempDir(), garage))
	s := keptStore(t)
	var said told
	m := &meanings{fails: func(context.Context, []string) error { return errors.New("no credit") }}
	k := s.Knowledge(withVectors(m, &said))
	done := add(t, k, "shop", "shop")
	if done.Passages != 3 || done.Embedded != 0 || done.Unembedded != 3 || done.EmbedError == nil ||
		!strings.Contains(done.EmbedError.Error(),
			"3 of 3 passages got no vector from m and are found by their words only: no credit") {
		t.Errorf("Add = %+v", done)
	}
	if got := find(t, k, "insurance", "shop"); got != "shop/a.txt#1" {
		t.Errorf("without vectors found %q", got)
	}
	m.fails = nil
	if done := add(t, k, "shop", "shop/a.txt"); done.Embedded != 3 || done.EmbedError != nil {
		t.Errorf("going on: %+v", done)
	}
	m.fails = func(context.Context, []string) error { return errors.New("gone") }
	if got := find(t, k, "opening vehicle", "shop"); got != "shop/c.txt#1" {
		t.Errorf("with a failing embedder found %q", got)
	}
	if want := "knowledge is searched by words only, without vectors of m: gone"; said.all() != want {
		t.Errorf("told %q, want %q", said.all(), want)
	}
	opened, err := knowledge.Open(t.Context(), ".", withVectors(m, &said))
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	if got := find(t, opened, "insurance", "shop"); got != "shop/a.txt#1" ||
		!strings.Contains(said.all(), "3 of 3 passages") {
		t.Errorf("folder: found %q, told %q", got, said.all())
	}
}

func TestSearchDoesNotWaitForASlowEmbedder(t *testing.T) {
	t.Chdir(write(t, t.TempDir(), garage))
	synctest.Test(t, func(t *testing.T) {
		var said told
		m := &meanings{}
		k := keptStore(t).Knowledge(withVectors(m, &said))
		add(t, k, "shop", "shop")
		release := make(chan struct{})
		defer close(release)
		m.fails = func(context.Context, []string) error { <-release; return nil } // deaf to its context
		start := time.Now()
		if got := find(t, k, "opening vehicle", "shop"); got != "shop/c.txt#1" || time.Since(start) != time.Second {
			t.Errorf("found %q after %s", got, time.Since(start))
		}
		if !strings.Contains(said.all(), "no answer within a second") {
			t.Errorf("told %q", said.all())
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		_, err := k.Search(ctx, flow.Query{Text: "car", Bases: []string{"shop"}, TopK: 1})
		if !errors.Is(err, context.DeadlineExceeded) || strings.Contains(strings.TrimSpace(said.all()), "\n") {
			t.Errorf("cancelled: %v, told %q", err, said.all())
		}
	})
}
