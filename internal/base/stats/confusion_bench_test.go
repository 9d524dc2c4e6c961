package stats_test

import (
	"strconv"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/stats"
)

// BenchmarkConfusion scores as many items and labels as CLINC150 has.
func BenchmarkConfusion(b *testing.B) {
	labels := make([][]string, 151)
	for i := range labels {
		labels[i] = []string{"intent_" + strconv.Itoa(i)}
	}
	for b.Loop() {
		var c stats.Confusion
		for i := range 23_700 {
			c.Add(labels[i%151], labels[(i+i%10/9)%151])
		}
		if c.Score().N != 23_700 {
			b.Fatal("items are missing")
		}
	}
}
