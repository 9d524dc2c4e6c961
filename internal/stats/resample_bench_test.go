package stats

import (
	"math/rand/v2"
	"testing"
)

// BenchmarkResample is 10,000 resamples of 25,000 sessions of 20,000 users and of as many users, in eight metrics.
func BenchmarkResample(b *testing.B) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, clusters := range []int{25_000, 20_000} {
		columns := make([][]clusterSum, 8)
		for i := range columns {
			columns[i] = make([]clusterSum, clusters)
			for k := range 25_000 {
				c := &columns[i][k%clusters]
				c.n, c.sum = c.n+1, c.sum+r.NormFloat64()
			}
		}
		b.Run("", func(b *testing.B) {
			for b.Loop() {
				halfMeans(columns, Resamples, 42)
			}
		})
	}
}
