package knowledge_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/agent/knowledge"
)

// prose returns n paragraphs of about 120 words as often as words are in prose: few of them everywhere, most of them
// seldom.
func prose(n int) string {
	random := rand.New(rand.NewPCG(1, 2))
	words := rand.NewZipf(random, 1.1, 4, 50_000)
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"id":"p%d","text":"`, i)
		for range 120 {
			fmt.Fprintf(&b, "w%d ", words.Uint64())
		}
		b.WriteString("\"}\n")
	}
	return b.String()
}

// The words of the questions: w0 to w9 are such as "the" and "is", w3000 such as the name of a thing.
var questions = []struct{ name, text string }{
	{"name", "w5000"},
	{"keywords", "w900 w2500 w4000"},
	{"sentence", "w0 w2 w4000 w1 w5 w900 w3 w9 w2500"},
	{"common", "w0 w1"},
}

func BenchmarkSearchOfAFolder(b *testing.B) {
	benchmarkSearch(b, folder(b, write(b, b.TempDir(), map[string]string{"b.jsonl": prose(10_000)})))
}

func BenchmarkSearchOfAStore(b *testing.B) {
	k := kept(b)
	add(b, k, "b", filepath.Join(write(b, b.TempDir(), map[string]string{"b.jsonl": prose(10_000)}), "b.jsonl"))
	benchmarkSearch(b, k)
}

func benchmarkSearch(b *testing.B, k *knowledge.Library) {
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
}

func BenchmarkOpenKnowledge(b *testing.B) {
	dir := write(b, b.TempDir(), map[string]string{"b.jsonl": prose(10_000)})
	for b.Loop() {
		k, err := knowledge.Open(b.Context(), dir)
		if err != nil {
			b.Fatal(err)
		}
		if err := k.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
