package stats_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/rehearse-dev/rehearse/internal/base/stats"
)

// rated turns a table of counts into the ratings of two raters, numbered from 0.
func rated(table [][]int) (first, second []float64) {
	for x, row := range table {
		for y, count := range row {
			for range count {
				first, second = append(first, float64(x)), append(second, float64(y))
			}
		}
	}
	return first, second
}

func TestKappa(t *testing.T) {
	for _, tc := range []struct {
		name                         string
		table                        [][]int
		kappa, linear, quadratic, by float64
	}{
		// Artstein and Poesio, Inter-Coder Agreement for Computational Linguistics (2008), table 1.
		{"Artstein and Poesio", [][]int{{20, 20}, {10, 50}}, 0.348, 0.348, 0.348, 5e-4},
		// Cohen (1960): (0.70 − 0.41)/(1 − 0.41).
		{"Cohen", [][]int{{88, 14, 18}, {10, 40, 10}, {2, 6, 12}}, 0.492, math.NaN(), math.NaN(), 5e-4},
		// scikit-learn's test of cohen_kappa_score: [0]·46 + [1]·44 + [2]·10 against [0]·50 + [1]·40 + [2]·10.
		{"weighted", [][]int{{46, 0, 0}, {4, 40, 0}, {0, 0, 10}}, 0.9315, 0.9412, 0.9541, 5e-5},
		// 1 − 4·(distances of the four items)/(distances of all products of rows and columns).
		{"by hand", [][]int{{1, 0, 1}, {1, 1, 0}, {0, 0, 0}}, 1 - 4.*2/10, 1 - 4.*3/12, 1 - 4.*5/16, 1e-12},
	} {
		first, second := rated(tc.table)
		for _, got := range []struct{ value, want float64 }{
			{stats.Kappa(first, second).Kappa, tc.kappa},
			{stats.WeightedKappa(first, second, stats.Linear).Kappa, tc.linear},
			{stats.WeightedKappa(first, second, stats.Quadratic).Kappa, tc.quadratic},
		} {
			if math.Abs(got.value-got.want) > tc.by {
				t.Errorf("%s: κ = %v, want %v", tc.name, got.value, got.want)
			}
		}
	}
}

func TestKappaLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		grade := rapid.Map(rapid.IntRange(1, 4), func(i int) float64 { return float64(i) })
		first := rapid.SliceOfN(grade, 1, 30).Draw(t, "first")
		second := rapid.SliceOfN(grade, len(first), len(first)).Draw(t, "second")
		for name, kappa := range map[string]func(a, b []float64) stats.Agreement{
			"nominal":   stats.Kappa[float64],
			"linear":    func(a, b []float64) stats.Agreement { return stats.WeightedKappa(a, b, stats.Linear) },
			"quadratic": func(a, b []float64) stats.Agreement { return stats.WeightedKappa(a, b, stats.Quadratic) },
		} {
			g, back, same := kappa(first, second), kappa(second, first), kappa(first, first)
			if math.Abs(g.Kappa-back.Kappa) > 1e-9 || g.Defined != back.Defined || g.Kappa < -1-1e-9 ||
				g.Kappa > 1+1e-9 {
				t.Fatalf("%s: %+v one way, %+v the other", name, g, back)
			}
			if g.Interval[0] > g.Kappa+1e-9 || g.Interval[1] < g.Kappa-1e-9 ||
				same.Defined && math.Abs(same.Kappa-1) > 1e-9 {
				t.Fatalf("%s: %+v, with itself %+v", name, g, same)
			}
		}
	})
}

// TestKappaInterval has J. L. Fleiss, Statistical Methods for Rates and Proportions (1981), table 13.1: agreement 0.89,
// 0.66 by chance, κ 0.68 with a standard error of 0.087 or, with more digits, 0.0877.
func TestKappaInterval(t *testing.T) {
	first, second := rated([][]int{{75, 1, 4}, {5, 4, 1}, {0, 0, 10}})
	g := stats.Kappa(first, second)
	got := []float64{g.Observed, g.Expected, g.Kappa, g.Interval[0], g.Interval[1]}
	want := []float64{0.89, 0.66, 0.676471, 0.676471 - 1.959964*0.0877030, 0.676471 + 1.959964*0.0877030}
	if d := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-6)); d != "" || g.N != 100 || !g.Defined {
		t.Errorf("agreement mismatch (-want +got):\n%s", d)
	}
}

func TestKappaOfLittle(t *testing.T) {
	for _, tc := range []struct {
		name          string
		first, second []string
		want          stats.Agreement
	}{
		{"nothing", nil, nil, stats.Agreement{}},
		{"one label only", []string{"a", "a"}, []string{"a", "a"}, stats.Agreement{N: 2, Observed: 1, Expected: 1}},
		{"never", []string{"a", "b"}, []string{"b", "a"}, stats.Agreement{
			N: 2, Expected: 0.5, Kappa: -1, Interval: [2]float64{-1, -1}, Defined: true,
		}},
		// The lower end is that of Wilson's interval of four of four, 0.5101, against 0.5 by chance.
		{
			"always", []string{"a", "b", "a", "b", "?"}, []string{"a", "b", "a", "b"},
			stats.Agreement{N: 4, Observed: 1, Expected: 0.5, Kappa: 1, Interval: [2]float64{0.0202, 1}, Defined: true},
		},
	} {
		if d := cmp.Diff(tc.want, stats.Kappa(tc.first, tc.second), near()); d != "" {
			t.Errorf("%s: agreement mismatch (-want +got):\n%s", tc.name, d)
		}
	}
}
