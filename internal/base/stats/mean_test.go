package stats_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rehearse-dev/rehearse/internal/base/stats"
)

func TestTInterval(t *testing.T) {
	for _, tc := range []struct {
		name string
		xs   []float64
		want [2]float64
	}{
		// Mean 0.8, s = sqrt(0.1/4) = 0.158114, t(4) = 2.776445, half = 2.776445 · 0.158114 / sqrt 5 = 0.196325.
		{"five", []float64{0.6, 0.7, 0.8, 0.9, 1.0}, [2]float64{0.60368, 0.99632}},
		// Mean 0.5, s = 0.707107, t(1) = 12.706205, half = 6.353102.
		{"two", []float64{0, 1}, [2]float64{-5.8531, 6.8531}},
		{"equal", []float64{0.9, 0.9, 0.9}, [2]float64{0.9, 0.9}},
		{"one", []float64{1}, [2]float64{math.Inf(-1), math.Inf(1)}},
		{"none", nil, [2]float64{math.Inf(-1), math.Inf(1)}},
	} {
		if d := cmp.Diff(tc.want, stats.TInterval(tc.xs), near()); d != "" {
			t.Errorf("%s: TInterval mismatch (-want +got):\n%s", tc.name, d)
		}
	}
}

func TestTLower(t *testing.T) {
	for _, tc := range []struct {
		xs   []float64
		want float64
	}{
		{[]float64{0.6, 0.7, 0.8, 0.9, 1.0}, 0.60368},
		{[]float64{0, 1}, 0},
		{[]float64{1, 1, 1}, 1},
		{[]float64{1}, 0},
		{nil, 0},
	} {
		if got := stats.TLower(tc.xs); math.Abs(got-tc.want) > 5e-5 {
			t.Errorf("TLower(%v) = %v, want %v", tc.xs, got, tc.want)
		}
	}
}

func TestTLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		xs := rapid.SliceOfN(rapid.Float64Range(0, 1), 2, 50).Draw(t, "xs")
		got, mean := stats.TInterval(xs), 0.0
		for _, x := range xs {
			mean += x / float64(len(xs))
		}
		if got[0] > mean+1e-9 || got[1] < mean-1e-9 {
			t.Fatalf("TInterval = %v does not hold the mean %v", got, mean)
		}
		if low := stats.TLower(xs); low < 0 || low > 1 || low > mean+1e-9 {
			t.Fatalf("TLower = %v with mean %v", low, mean)
		}
	})
}
