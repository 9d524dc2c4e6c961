package stats_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/base/stats"
)

func TestRepeatVariance(t *testing.T) {
	nan := math.NaN()
	for _, tc := range []struct {
		name   string
		scores [][]float64
		want   stats.VarianceSplit
	}{
		{"nothing", nil, stats.VarianceSplit{}},
		{"no score", [][]float64{{}, {nan}}, stats.VarianceSplit{}},
		{"nothing repeated", [][]float64{{1}, {0}, {1}}, stats.VarianceSplit{Tests: 3, Mean: 2. / 3}},
		// Within: 0.5 and 0; means 0.5 and 1, whose variance is 0.125; less 0.25/2.
		{"as repeats explain", [][]float64{{0, 1}, {1, 1}}, stats.VarianceSplit{
			Tests: 2, Mean: 0.75, Model: new(0.25), Test: new(0.0),
		}},
		// Within: 0.5 and 0.5; equal means.
		{"never below 0", [][]float64{{0, 1}, {1, 0}}, stats.VarianceSplit{
			Tests: 2, Mean: 0.5, Model: new(0.5), Test: new(0.0),
		}},
		// Within: 1, 1 and 1; means 2, 5 and 8, whose variance is 9; less 1/3.
		{
			"three tests, three times", [][]float64{{1, 2, 3}, {4, 5, 6}, {7, 8, 9}},
			stats.VarianceSplit{Tests: 3, Mean: 5, Model: new(1.0), Test: new(9 - 1./3)},
		},
		// Within: 2 and 0; means 1, 4 and 10, whose variance is 21; less 1·(1/2 + 1/3 + 1)/3.
		{"unequally often", [][]float64{{0, 2}, {4, 4, 4, nan}, {10}}, stats.VarianceSplit{
			Tests: 3, Mean: 5, Model: new(1.0), Test: new(21 - 11./18),
		}},
		{"one test", [][]float64{{0, 1}}, stats.VarianceSplit{Tests: 1, Mean: 0.5, Model: new(0.5)}},
		{"the same each time", [][]float64{{1, 1}, {0, 0}}, stats.VarianceSplit{
			Tests: 2, Mean: 0.5, Model: new(0.0), Test: new(0.5),
		}},
	} {
		var v stats.RepeatVariance
		for _, of := range tc.scores {
			v.Add(of)
		}
		if d := cmp.Diff(tc.want, v.Split(), near()); d != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, d)
		}
	}
}
