package stats_test

import (
	"math"
	"math/big"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/rehearse-dev/rehearse/internal/base/stats"
)

func TestRepeats(t *testing.T) {
	for _, tc := range []struct {
		n, c    int
		hat, at []float64
	}{
		// C(3,k)/C(5,k): 3/5, 3/10, 1/10, 0, 0; 1 - C(2,k)/C(5,k): 3/5, 9/10, 1, 1, 1.
		{5, 3, []float64{0.6, 0.3, 0.1, 0, 0}, []float64{0.6, 0.9, 1, 1, 1}},
		{4, 0, []float64{0, 0, 0, 0}, []float64{0, 0, 0, 0}},
		{3, 3, []float64{1, 1, 1}, []float64{1, 1, 1}},
		{1, 1, []float64{1}, []float64{1}},
		{0, 0, nil, nil},
		{2, 9, []float64{1, 1}, []float64{1, 1}},
	} {
		if d := cmp.Diff(tc.hat, stats.PassHatK(tc.n, tc.c), near()); d != "" {
			t.Errorf("PassHatK(%d, %d) mismatch (-want +got):\n%s", tc.n, tc.c, d)
		}
		if d := cmp.Diff(tc.at, stats.PassAtK(tc.n, tc.c), near()); d != "" {
			t.Errorf("PassAtK(%d, %d) mismatch (-want +got):\n%s", tc.n, tc.c, d)
		}
	}
}

// TestTauBench reproduces pass^k of the 35 airline tasks of τ-bench with 4 trials each.
// How many tasks passed 0…4 times is counted from the trajectories of sierra-research/tau-bench @ 59a200c (MIT).
func TestTauBench(t *testing.T) {
	tasksByPasses := []int{14, 9, 6, 2, 4}
	hat, at := make([]float64, 4), make([]float64, 4)
	for passed, tasks := range tasksByPasses {
		h, a := stats.PassHatK(4, passed), stats.PassAtK(4, passed)
		for k := range 4 {
			hat[k] += float64(tasks) * h[k] / 35
			at[k] += float64(tasks) * a[k] / 35
		}
	}
	if d := cmp.Diff([]float64{43. / 140, 6. / 35, 9. / 70, 4. / 35}, hat, cmpopts.EquateApprox(0, 1e-12)); d != "" {
		t.Errorf("pass^k of tau-bench mismatch (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]float64{0.307143, 0.442857, 0.535714, 0.6}, at, cmpopts.EquateApprox(0, 5e-7)); d != "" {
		t.Errorf("pass@k of tau-bench mismatch (-want +got):\n%s", d)
	}
}

func TestRepeatsAgreeWithBigArithmetic(t *testing.T) {
	quotient := func(a, b, k int64) *big.Rat {
		return new(big.Rat).SetFrac(new(big.Int).Binomial(a, k), new(big.Int).Binomial(b, k))
	}
	float := func(r *big.Rat) float64 { f, _ := r.Float64(); return f }
	for _, tc := range []struct{ n, c, k int64 }{
		{10, 7, 3}, {100, 99, 50}, {1000, 3, 2}, {1000, 999, 1000}, {10_000, 9_990, 5_000}, {10_000, 1, 1},
		{10_000, 5_000, 40},
	} {
		hat := stats.PassHatK(int(tc.n), int(tc.c))[tc.k-1]
		if want := float(quotient(tc.c, tc.n, tc.k)); math.Abs(hat-want) > 1e-11*want {
			t.Errorf("PassHatK(%d, %d)[%d] = %v, want %v", tc.n, tc.c, tc.k-1, hat, want)
		}
		at := stats.PassAtK(int(tc.n), int(tc.c))[tc.k-1]
		want := float(new(big.Rat).Sub(big.NewRat(1, 1), quotient(tc.n-tc.c, tc.n, tc.k)))
		if math.Abs(at-want) > 1e-11*want {
			t.Errorf("PassAtK(%d, %d)[%d] = %v, want %v", tc.n, tc.c, tc.k-1, at, want)
		}
	}
}

func TestRepeatLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 10_000).Draw(t, "n")
		c := rapid.IntRange(0, n).Draw(t, "c")
		hat, at := stats.PassHatK(n, c), stats.PassAtK(n, c)
		rate := float64(c) / float64(n)
		if len(hat) != n || len(at) != n || hat[0] != rate || at[0] != rate {
			t.Fatalf("n %d, c %d: lengths %d and %d, first %v and %v, want %v", n, c, len(hat), len(at), hat[0],
				at[0], rate)
		}
		for k := 1; k < n; k++ {
			if hat[k] > hat[k-1] || at[k] < at[k-1] || hat[k] < 0 || at[k] > 1 {
				t.Fatalf("n %d, c %d, k %d: pass^k %v after %v, pass@k %v after %v", n, c, k+1, hat[k], hat[k-1],
					at[k], at[k-1])
			}
		}
		if (at[n-1] == 1) != (c > 0) || (hat[n-1] == 1) != (c == n) {
			t.Fatalf("n %d, c %d: pass@n %v, pass^n %v", n, c, at[n-1], hat[n-1])
		}
	})
}

func TestClass(t *testing.T) {
	for _, tc := range []struct {
		passed, n int
		want      string
	}{
		{0, 0, ""}, {0, 5, "stable_fail"}, {5, 5, "stable_pass"}, {1, 5, "flaky"}, {4, 5, "flaky"},
		{1, 1, "stable_pass"},
	} {
		if got := stats.Class(tc.passed, tc.n); got != tc.want {
			t.Errorf("Class(%d, %d) = %q, want %q", tc.passed, tc.n, got, tc.want)
		}
	}
}
