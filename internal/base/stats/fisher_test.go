package stats

import (
	"math"
	"testing"
)

// Tables worked by hand: the hypergeometric probabilities of the observed number of passes and of fewer.
func TestFisherLess(t *testing.T) {
	for _, tc := range []struct {
		passed, n, other, of int
		want                 float64
	}{
		{0, 5, 5, 5, 1.0 / 252},
		{1, 4, 3, 4, 17.0 / 70}, // the lady tasting tea, from the other side: (1 + 16) / 70
		{5, 10, 10, 10, 252.0 / 15504},
		{3, 3, 3, 3, 1},
		{0, 3, 0, 3, 1},
		{0, 0, 3, 3, 1},
		{3, 3, 0, 0, 1},
		{2, 2, 0, 2, 1},
	} {
		if got := FisherLess(tc.passed, tc.n, tc.other, tc.of); math.Abs(got-tc.want) > 1e-12 {
			t.Errorf("%d of %d after %d of %d: %v, want %v", tc.passed, tc.n, tc.other, tc.of, got, tc.want)
		}
	}
}
