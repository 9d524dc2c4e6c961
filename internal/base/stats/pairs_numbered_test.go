package stats_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/rehearse-dev/rehearse/internal/base/stats"
)

// A comparison is the same whether clusters have numbers or names. Some clusters are missing in some metrics.
func TestNumberedClustersAreAsNamed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		criteria := []stats.Criterion{
			{PassFail: true, Range: 1, Seed: 1, Resamples: 200},
			{LowerIsBetter: true, Margin: stats.Margin{Relative: 0.1}, Seed: 1, Resamples: 200},
		}
		var named, numbered []stats.Metric
		binary := rapid.Bool().Draw(t, "binary")
		n := rapid.IntRange(0, 80).Draw(t, "pairs")
		for _, c := range criteria {
			one, other := &stats.Pairs{}, &stats.Pairs{}
			for i := range n {
				cluster := i
				if !binary && rapid.IntRange(0, 9).Draw(t, "again") == 0 {
					cluster = rapid.IntRange(0, n).Draw(t, "cluster")
				}
				if rapid.IntRange(0, 9).Draw(t, "lacks") == 0 {
					continue
				}
				was, is := float64(rapid.IntRange(0, 1).Draw(t, "was")), float64(rapid.IntRange(0, 1).Draw(t, "is"))
				if !binary {
					was, is = was+rapid.Float64Range(0, 2).Draw(t, "more"), is+rapid.Float64Range(0, 2).Draw(t, "other")
				}
				if cluster >= 60 { // some have names in both
					one.Add(fmt.Sprint(cluster), was, is)
					other.Add(fmt.Sprint(cluster), was, is)
					continue
				}
				one.Add(fmt.Sprintf("%03d", cluster), was, is)
				other.AddNumbered(cluster, was, is)
			}
			named, numbered = append(named, stats.Metric{Pairs: one, Criterion: c}),
				append(numbered, stats.Metric{Pairs: other, Criterion: c})
		}
		if d := cmp.Diff(stats.CompareAll(named), stats.CompareAll(numbered), cmp.AllowUnexported(stats.Difference{}),
			cmpopts.EquateNaNs()); d != "" {
			t.Error(d)
		}
		one, other := stats.Watch{Alpha: 0.05}, stats.Watch{Alpha: 0.05}
		if d := cmp.Diff(one.Analyze(named[1].Pairs, nil), other.Analyze(numbered[1].Pairs, nil)); d != "" {
			t.Error(d)
		}
	})
}
