package stats_test

import (
	"fmt"

	"github.com/rehearse-dev/rehearse/internal/base/stats"
)

// Nine passes of ten leave much room for the true rate.
func ExampleWilson() {
	interval := stats.Wilson(9, 10)
	fmt.Printf("%.2f to %.2f\n", interval[0], interval[1])
	// Output: 0.60 to 0.98
}

// A candidate is compared with a baseline on the same sessions, each session being a cluster of its turns.
func ExamplePairs() {
	var pairs stats.Pairs
	for session := range 40 {
		cluster := fmt.Sprintf("session-%d", session)
		easy := float64(session%4) / 10
		pairs.Add(cluster, 0.5+easy, 0.6+easy)
		pairs.Add(cluster, 0.4+easy, 0.4+easy)
	}
	d := pairs.Compare(stats.Criterion{Seed: 1})
	fmt.Printf("%d pairs of %d sessions: %+.2f, %s\n", d.N, d.Clusters, d.Mean, d.Verdict)
	// Output: 80 pairs of 40 sessions: +0.05, better
}
