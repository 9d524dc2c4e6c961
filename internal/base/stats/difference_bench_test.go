package stats_test

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/stats"
)

func pairsOf(clusters, size int) *stats.Pairs {
	r := rand.New(rand.NewPCG(3, 4))
	var p stats.Pairs
	for c := range clusters {
		for range size {
			p.Add(strconv.Itoa(c), r.Float64(), r.Float64())
		}
	}
	return &p
}

func BenchmarkCompare(b *testing.B) {
	for _, clusters := range []int{49, 50, 1_000, 10_000, 23_000} {
		p := pairsOf(clusters, 1)
		b.Run(strconv.Itoa(clusters), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p.Compare(stats.Criterion{Seed: 1})
			}
		})
	}
}

func BenchmarkComparePassFail(b *testing.B) {
	for _, n := range []int{100, 1_000, 23_000} {
		r := rand.New(rand.NewPCG(3, 4))
		var p stats.Pairs
		for i := range n {
			p.Add(strconv.Itoa(i), float64(r.IntN(10)/9), float64(r.IntN(10)/9))
		}
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			for b.Loop() {
				p.Compare(stats.Criterion{PassFail: true})
			}
		})
	}
}

// BenchmarkCompareAll compares eight metrics of 25,000 sessions: of as many users, and of 5,000 of whom some have very
// many.
func BenchmarkCompareAll(b *testing.B) {
	for _, users := range []int{25_000, 5_000} {
		r := rand.New(rand.NewPCG(3, 4))
		var of []int
		for session := range 25_000 {
			user := session
			if users < 25_000 {
				user = int(float64(users) * r.Float64() * r.Float64())
			}
			of = append(of, user)
		}
		var metrics []stats.Metric
		for i := range 8 {
			var p stats.Pairs
			for _, user := range of {
				p.Add(strconv.Itoa(user), r.Float64(), r.Float64())
			}
			metrics = append(metrics, stats.Metric{
				Pairs: &p, Criterion: stats.Criterion{Seed: 42, Margin: stats.Margin{Relative: float64(i%2) / 10}},
			})
		}
		b.Run(strconv.Itoa(users), func(b *testing.B) {
			for b.Loop() {
				stats.CompareAll(metrics)
			}
		})
	}
}
