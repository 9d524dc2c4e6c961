package stats_test

import (
	"math/rand/v2"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/stats"
)

// longSequences are two walks of n steps over 20 states.
func longSequences(n int) (a, b []string) {
	r := rand.New(rand.NewPCG(1, 2))
	for range n {
		a = append(a, string(rune('a'+r.IntN(20))))
		b = append(b, string(rune('a'+r.IntN(20))))
	}
	return a, b
}

func BenchmarkLevenshtein10000(b *testing.B) {
	x, y := longSequences(10_000)
	b.ReportAllocs()
	for b.Loop() {
		stats.Levenshtein(x, y)
	}
}

func BenchmarkAlign10000(b *testing.B) {
	x, y := longSequences(10_000)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := stats.Align(x, y); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkScoreSequences is what a session of ten turns costs.
func BenchmarkScoreSequences(b *testing.B) {
	x, y := longSequences(10)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := stats.ScoreSequences(x, y); err != nil {
			b.Fatal(err)
		}
	}
}
