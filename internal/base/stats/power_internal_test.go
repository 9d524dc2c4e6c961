package stats

import (
	"math"
	"testing"
)

// detectableMean is the mean that n independent units with the standard deviation sd detect.
func detectableMean(sd float64, n int, power float64) float64 {
	return detectable(sd/math.Sqrt(float64(n)), float64(n-1), power)
}

func TestDetectable(t *testing.T) {
	for _, tc := range []struct {
		sd       float64
		n        int
		want, by float64
	}{
		// J. Cohen, Statistical Power Analysis (1988) and G*Power: paired t, two-sided 5 %, 80 %: d = 0.8 needs 15, 0.5
		// needs 34, 0.2 needs 199.
		{1, 34, 0.4953, 1e-3},
		{1, 199, 0.1996, 1e-3},
		{2, 199, 0.3992, 1e-3},
		// For many it is (1.95996 + 0.84162)/√n.
		{1, 20_000, 2.80158 / math.Sqrt(20_000), 1e-5},
		{1, 9_999, 2.80158 / math.Sqrt(9_999), 1e-5},
	} {
		if got := detectableMean(tc.sd, tc.n, Power); math.Abs(got-tc.want) > tc.by {
			t.Errorf("detectable of (%v, %d) = %v, want %v", tc.sd, tc.n, got, tc.want)
		}
	}
	// Two units, where t is 12.7: a number, and the larger the surer.
	last := 0.0
	for _, power := range []float64{0.1, 0.5, 0.8, 0.99, 0.9999} {
		got := detectableMean(1, 2, power)
		if !(got > last) || math.IsInf(got, 0) {
			t.Errorf("two units detect %v with probability %v", got, power)
		}
		last = got
	}
}

func TestLeastUnits(t *testing.T) {
	for _, tc := range []struct {
		sd, difference float64
		want           int
	}{
		{1, 0.8, 15},
		{1, -0.5, 34},
		{1, 0.2, 199},
		{1, 0.01, 78_490}, // (2.80158/0.01)², rounded up
		{1, 1e-9, 0},
		{0, 1, 2},
	} {
		got := leastUnits(func(n int) bool { return detectableMean(tc.sd, n, Power) <= math.Abs(tc.difference) })
		if off := math.Abs(float64(got - tc.want)); off > 0.0001*float64(tc.want) {
			t.Errorf("leastUnits for (%v, %v) = %d, want %d", tc.sd, tc.difference, got, tc.want)
		}
	}
}
