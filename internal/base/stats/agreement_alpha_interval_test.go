package stats_test

import (
	"math"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/stats"
)

func TestAlphaInterval(t *testing.T) {
	units := unitsOf("1 2 3 3 2 1 4 1 2 . . .", "1 2 3 3 2 2 4 1 2 5 . 3", ". 3 3 3 2 3 4 2 2 5 1 .",
		"1 2 3 3 2 4 4 1 2 5 1 .")
	alpha, _ := stats.NominalAlpha(units)
	interval := stats.AlphaInterval(units, 42, stats.NominalAlpha[int])
	if interval[0] > alpha-0.1 || interval[1] < alpha+0.1 || interval[0] < 0.2 || interval[1] > 1 {
		t.Errorf("α = %v, interval %v", alpha, interval)
	}
	if again := stats.AlphaInterval(units, 42, stats.NominalAlpha[int]); again != interval {
		t.Errorf("the same seed gives %v and %v", interval, again)
	}
	for _, few := range [][][]int{nil, {{1, 2}}, {{1}, {2}}, {{1, 1}, {1, 1}}} {
		if got := stats.AlphaInterval(few, 42, stats.OrdinalAlpha[int]); got != [2]float64{-1, 1} {
			t.Errorf("the interval of %v is %v", few, got)
		}
	}
}

// TestAlphaOfAgreement: few units that agree prove little, many prove more. Of two raters and two labels that are
// equally frequent among n units, a share s that may disagree lowers α by s·2(n−1)/n.
func TestAlphaOfAgreement(t *testing.T) {
	for _, n := range []int{4, 40, 4_000} {
		var units [][]int
		for i := range n {
			units = append(units, []int{i % 2, i % 2})
		}
		share := 1 - stats.Wilson(n, n)[0]
		want := max(-1, 1-share*2*float64(n-1)/float64(n))
		if got := stats.AlphaInterval(units, 42, stats.NominalAlpha[int]); math.Abs(got[0]-want) > 1e-9 || got[1] != 1 {
			t.Errorf("%d units that agree: %v, want from %v", n, got, want)
		}
	}
}

// TestAlphaCoverage: four raters who are right in nine of ten cases, and otherwise give any of three labels, agree with
// α = 0.9². The bootstrap of 40 units covers it in about 93 % of all cases.
func TestAlphaCoverage(t *testing.T) {
	r, n := random(61), runs(200)
	holds := 0
	for range n {
		units := make([][]int, 40)
		for u := range units {
			truth := r.IntN(3)
			for range 4 {
				label := truth
				if r.Float64() < 0.1 {
					label = r.IntN(3)
				}
				units[u] = append(units[u], label)
			}
		}
		if i := stats.AlphaInterval(units, 42, stats.NominalAlpha[int]); i[0] <= 0.81 && 0.81 <= i[1] {
			holds++
		}
	}
	within(t, "intervals of α", holds, n, 90, 97)
}

// TestKappaCoverage: the same of two raters and κ, whose interval is for many items.
func TestKappaCoverage(t *testing.T) {
	r, n := random(62), runs(2_000)
	holds := 0
	for range n {
		first, second := make([]int, 200), make([]int, 200)
		for i := range first {
			truth := r.IntN(3)
			first[i], second[i] = truth, truth
			if r.Float64() < 0.1 {
				first[i] = r.IntN(3)
			}
			if r.Float64() < 0.1 {
				second[i] = r.IntN(3)
			}
		}
		if g := stats.Kappa(first, second); g.Interval[0] <= 0.81 && 0.81 <= g.Interval[1] {
			holds++
		}
	}
	within(t, "intervals of κ", holds, n, 93, 97)
}
