package stats_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/rehearse-dev/rehearse/internal/base/stats"
)

func TestWilson(t *testing.T) {
	for _, tc := range []struct {
		name      string
		passed, n int
		want      [2]float64
	}{
		// By hand with z = 1.959964, z² = 3.841459: centre = (p + z²/2n) / (1 + z²/n).
		{"nothing known", 0, 0, [2]float64{0, 1}},
		{"none of ten", 0, 10, [2]float64{0, 0.2775}},
		{"all of ten", 10, 10, [2]float64{0.7225, 1}},
		{"half of ten", 5, 10, [2]float64{0.2366, 0.7634}},
		{"one of one", 1, 1, [2]float64{0.2065, 1}},
		// Newcombe, Two-sided confidence intervals for the single proportion (1998), table I, method 3.
		{"Newcombe 81/263", 81, 263, [2]float64{0.2553, 0.3662}},
		{"Newcombe 15/148", 15, 148, [2]float64{0.0624, 0.1605}},
		{"Newcombe 0/20", 0, 20, [2]float64{0, 0.1611}},
		{"Newcombe 1/29", 1, 29, [2]float64{0.0061, 0.1718}},
		{"out of range is brought inside", 12, 10, [2]float64{0.7225, 1}},
	} {
		if d := cmp.Diff(tc.want, stats.Wilson(tc.passed, tc.n), near()); d != "" {
			t.Errorf("%s: Wilson(%d, %d) mismatch (-want +got):\n%s", tc.name, tc.passed, tc.n, d)
		}
	}
}

func TestWilsonLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 100_000).Draw(t, "n")
		c := rapid.IntRange(0, n).Draw(t, "c")
		p := float64(c) / float64(n)
		got := stats.Wilson(c, n)
		if got[0] < 0 || got[0] > p || got[1] < p || got[1] > 1 {
			t.Fatalf("Wilson(%d, %d) = %v does not hold %v within [0, 1]", c, n, got, p)
		}
		if c < n {
			if next := stats.Wilson(c+1, n); next[0] < got[0] || next[1] < got[1] {
				t.Fatalf("Wilson(%d, %d) = %v is not above %v", c+1, n, next, got)
			}
		}
		mirror := stats.Wilson(n-c, n)
		if math.Abs(mirror[0]-(1-got[1])) > 1e-12 || math.Abs(mirror[1]-(1-got[0])) > 1e-12 {
			t.Fatalf("Wilson(%d, %d) = %v does not mirror %v", n-c, n, mirror, got)
		}
	})
}

func TestRuleOfThree(t *testing.T) {
	for n, want := range map[int]float64{0: 1, 3: 1, 30: 0.1, 300: 0.01} {
		if got := stats.RuleOfThree(n); math.Abs(got-want) > 1e-12 {
			t.Errorf("RuleOfThree(%d) = %v, want %v", n, got, want)
		}
	}
}

// near is how exactly values worked by hand are written down.
func near() cmp.Option { return cmpopts.EquateApprox(0, 5e-5) }
