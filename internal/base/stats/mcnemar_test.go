package stats_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rehearse-dev/rehearse/internal/base/stats"
)

func TestMcNemar(t *testing.T) {
	for _, tc := range []struct {
		first, second int
		want          float64
	}{
		{0, 0, 1},
		{3, 3, 1},
		{0, 5, 2. / 32},
		// Fagerland, Lydersen and Laake (2013), airway hyper-responsiveness: exact 0.070; 2·(1 + 8)/256.
		{1, 7, 18. / 256},
		{7, 1, 18. / 256},
		// (1 + 10)·2/1024.
		{9, 1, 22. / 1024},
		// Summed in whole numbers.
		{59, 16, 6.11415657e-07},
	} {
		got := stats.McNemar(tc.first, tc.second)
		if d := cmp.Diff(tc.want, got, cmpopts.EquateApprox(1e-4, 1e-12)); d != "" {
			t.Errorf("McNemar(%d, %d) mismatch (-want +got):\n%s", tc.first, tc.second, d)
		}
	}
}

func TestPairedRateInterval(t *testing.T) {
	for _, tc := range []struct {
		first, second, n int
		want             [2]float64
	}{
		// Fagerland, Lydersen and Laake, Recommended Tests and Confidence Intervals for Paired Binomial Proportions
		// (2014): −0.517 to −0.026.
		{7, 1, 21, [2]float64{-0.517, -0.026}},
		{1, 7, 21, [2]float64{0.026, 0.517}},
		// ±z²/(n + z²).
		{0, 0, 10, [2]float64{-0.2775, 0.2775}},
		{0, 0, 0, [2]float64{-1, 1}},
		{0, 10, 10, [2]float64{0.4449, 1}},
	} {
		if d := cmp.Diff(tc.want, stats.PairedRateInterval(tc.first, tc.second, tc.n),
			cmpopts.EquateApprox(0, 5e-4)); d != "" {
			t.Errorf("PairedRateInterval(%d, %d, %d) mismatch (-want +got):\n%s", tc.first, tc.second, tc.n, d)
		}
	}
}

// TestExactTestIsTheStricterOfMany uses that Tango's statistic of no difference is McNemar's z, however many pairs
// agree: with the fewest pairs with which the exact test rejects, z must be above 1.96.
func TestExactTestIsTheStricterOfMany(t *testing.T) {
	most := 0
	for n := 1; n <= 3_000; n++ {
		for most = max(most, n/2); most <= n && stats.McNemar(n-most, most) > 0.05; {
			most++
		}
		if z := float64(2*most-n) / math.Sqrt(float64(n)); most <= n && z <= 1.959964 {
			t.Errorf("%d of %d: z = %v", most, n, z)
		}
	}
}

// TestExactTestIsTheStricter looks at every table of up to 40 pairs: where McNemar's exact test rejects, Tango's
// interval excludes 0, so that stretching it to 0 where the test does not is all that is needed for the two to agree.
func TestExactTestIsTheStricter(t *testing.T) {
	for n := 1; n <= 40; n++ {
		for first := 0; first <= n; first++ {
			for second := 0; first+second <= n; second++ {
				interval := stats.PairedRateInterval(first, second, n)
				if stats.McNemar(first, second) <= 0.05 && interval[0] <= 0 && interval[1] >= 0 {
					t.Errorf("%d and %d of %d: p %v, interval %v", first, second, n,
						stats.McNemar(first, second), interval)
				}
				if at := float64(second-first) / float64(n); interval[0] > at || interval[1] < at || interval[0] < -1 ||
					interval[1] > 1 {
					t.Errorf("%d and %d of %d: interval %v", first, second, n, interval)
				}
			}
		}
	}
}

func TestHolm(t *testing.T) {
	for _, tc := range []struct{ p, want []float64 }{
		{nil, []float64{}},
		{[]float64{0.03}, []float64{0.03}},
		// 0.005·4, 0.01·3, 0.03·2, and 0.04·1, which is not below the one before.
		{[]float64{0.01, 0.04, 0.03, 0.005}, []float64{0.03, 0.06, 0.06, 0.02}},
		{[]float64{0.5, 0.5, 0.9}, []float64{1, 1, 1}},
		{[]float64{0.04, 0.01}, []float64{0.04, 0.02}},
	} {
		if d := cmp.Diff(tc.want, stats.Holm(tc.p), cmpopts.EquateApprox(0, 1e-12)); d != "" {
			t.Errorf("Holm(%v) mismatch (-want +got):\n%s", tc.p, d)
		}
	}
}

func TestDecide(t *testing.T) {
	metric := func(mean, margin float64) stats.Difference {
		return spreadOut(16, 100, mean, 4).Compare(stats.Criterion{Margin: stats.Margin{Absolute: margin}})
	}
	still := singles(make([]float64, 100), make([]float64, 100)).Compare(stats.Criterion{
		Range: 1, Margin: stats.Margin{Absolute: 0.05},
	})
	// Of 16 pairs with a standard error of 1, 2.2 are p = 0.044 and 4 are p = 0.001; harm of 2.2 is harm, whatever the
	// other metrics.
	for _, tc := range []struct {
		name    string
		metrics []stats.Difference
		want    stats.Verdict
	}{
		{"none", nil, stats.Inconclusive},
		{"a gain", []stats.Difference{metric(2.2, 0)}, stats.Better},
		{"a gain beside what does not vary", []stats.Difference{metric(2.2, 0), still, still}, stats.Better},
		{
			"a gain that two others make doubtful", []stats.Difference{metric(2.2, 0), metric(0, 4), metric(0, 4)},
			stats.NonInferior,
		},
		{"a gain that is beyond doubt", []stats.Difference{metric(4, 0), metric(0, 4), metric(0, 4)}, stats.Better},
		{"a gain beside what is left open", []stats.Difference{metric(4, 0), metric(0, 1)}, stats.Inconclusive},
		{"harm among many", []stats.Difference{
			metric(4, 0), metric(-2.2, 0), metric(0, 1), metric(0, 4), metric(0, 4),
		}, stats.Worse},
		{"nothing varies", []stats.Difference{still, still}, stats.NonInferior},
	} {
		if got := stats.Decide(tc.metrics); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
	metrics := []stats.Difference{metric(2.2, 0), metric(4, 0), still}
	stats.Decide(metrics)
	if metrics[0].AdjustedP != metrics[0].P || math.Abs(metrics[1].AdjustedP-2*metrics[1].P) > 1e-12 ||
		metrics[2].AdjustedP != 1 {
		t.Errorf("corrected to %v, %v and %v", metrics[0].AdjustedP, metrics[1].AdjustedP, metrics[2].AdjustedP)
	}
}
