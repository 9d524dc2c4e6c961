package stats_test

import (
	"math"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/rehearse-dev/rehearse/internal/base/stats"
)

// spreadOut are n pairs that differ by mean, and by as much as sd/mean on top of it, exactly.
func spreadOut(n int, base, mean, sd float64) *stats.Pairs {
	var p stats.Pairs
	step := sd * math.Sqrt(float64(n-1)/float64(n))
	for i := range n {
		p.Add(strconv.Itoa(i), base, base+mean+step*float64(1-2*(i%2)))
	}
	return &p
}

func TestVerdicts(t *testing.T) {
	higher := func(absolute, relative float64) stats.Criterion {
		return stats.Criterion{Margin: stats.Margin{Absolute: absolute, Relative: relative}}
	}
	lower := func(absolute, relative float64) stats.Criterion {
		c := higher(absolute, relative)
		c.LowerIsBetter = true
		return c
	}
	// With 16 pairs and a deviation of 4 the interval is mean ± t(15)·1 = ± 2.13.
	for _, tc := range []struct {
		name string
		mean float64
		c    stats.Criterion
		want stats.Verdict
	}{
		{"above 0", 3, higher(0, 0), stats.Better},
		{"above 0 where lower is better", 3, lower(0, 0), stats.Worse},
		{"below 0", -3, higher(0, 0), stats.Worse},
		{"below 0 where lower is better", -3, lower(0, 0), stats.Better},
		{"about 0", 1, higher(0, 0), stats.Inconclusive},
		{"about 0 and within the margin", 1, higher(1.2, 0), stats.NonInferior},
		{"about 0 and not within the margin", -1, higher(3, 0), stats.Inconclusive},
		{"about 0 and within the margin where lower is better", -1, lower(1.2, 0), stats.NonInferior},
		{"a known loss within the margin", -3, higher(5.2, 0), stats.NonInferior},
		{"a known loss that may be beyond the margin", -3, higher(5, 0), stats.Worse},
		{"a relative margin: a tenth of 100", 7, lower(0, 0.1), stats.NonInferior},
		{"a relative margin: a tenth of 100 may be exceeded", 8, lower(0, 0.1), stats.Worse},
		{"both margins", 8, lower(1, 0.1), stats.NonInferior},
		{"a relative margin where higher is better", -7, higher(0, 0.1), stats.NonInferior},
		{"a known loss that is smaller than any harm", -3, stats.Criterion{Harmless: 3.5}, stats.Inconclusive},
		{"a known loss as large as harm", -3, stats.Criterion{Harmless: 3}, stats.Worse},
		{"no loss could be as large as harm", -3, stats.Criterion{Harmless: 5.2}, stats.NonInferior},
		{"a loss smaller than any harm where lower is better", 3, stats.Criterion{
			LowerIsBetter: true, Harmless: 3.5,
		}, stats.Inconclusive},
	} {
		d := spreadOut(16, 100, tc.mean, 4).Compare(tc.c)
		if d.Verdict != tc.want || math.Abs(d.SE-1) > 1e-9 || math.Abs(d.Mean-tc.mean) > 1e-9 {
			t.Errorf("%s: %s, want %s; %+v", tc.name, d.Verdict, tc.want, d)
		}
	}
}

// TestRelativeMarginKnowsTheBaselineNoBetter has baselines that vary: 1.1 times their mean is as uncertain as they are.
func TestRelativeMarginKnowsTheBaselineNoBetter(t *testing.T) {
	var p stats.Pairs
	for i := range 10 {
		base := float64(1 + i*i)
		p.Add(strconv.Itoa(i), base, 1.09*base)
	}
	// 1.1·b − c is 0.01·b, whose mean is 0.295 and whose standard error 0.089; against a fixed margin of 2.95 the loss
	// of 2.655 has 0.80.
	fixed := p.Compare(stats.Criterion{LowerIsBetter: true, Margin: stats.Margin{Absolute: 2.95}})
	relative := p.Compare(stats.Criterion{LowerIsBetter: true, Margin: stats.Margin{Relative: 0.1}})
	if fixed.Verdict != stats.Worse || relative.Verdict != stats.NonInferior || fixed.Interval != relative.Interval {
		t.Errorf("fixed %+v\nrelative %+v", fixed, relative)
	}
}

func TestDifferenceLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 70).Draw(t, "n")
		score := rapid.SampledFrom([]float64{0, 0.25, 0.5, 1})
		passFail := rapid.Bool().Draw(t, "passFail")
		if passFail {
			score = rapid.SampledFrom([]float64{0, 1})
		}
		baseline, candidate := rapid.SliceOfN(score, n, n).Draw(t, "baseline"),
			rapid.SliceOfN(score, n, n).Draw(t, "candidate")
		margin := rapid.Float64Range(0, 0.5).Draw(t, "margin")
		c := stats.Criterion{
			PassFail: passFail, Range: 1, Margin: stats.Margin{Absolute: margin}, Seed: 1, Resamples: 500,
		}
		d := singles(baseline, candidate).Compare(c)
		low, high := d.Interval[0], d.Interval[1]
		// The verdict is what the interval says.
		want := stats.Inconclusive
		switch {
		case low > 0:
			want = stats.Better
		case low >= -margin:
			want = stats.NonInferior
		case high < 0:
			want = stats.Worse
		}
		if d.Verdict != want || low > d.Mean+1e-9 || high < d.Mean-1e-9 || d.P < 0 || d.P > 1 ||
			(d.P <= 0.05) != (low > 0 || high < 0) {
			t.Fatalf("want %s: %+v", want, d)
		}
		// With lower and higher exchanged, and so the scores, all is as before. (Each bootstrap draws the same clusters
		// in another order.)
		if n < 50 || d.Method == stats.MethodMcNemar {
			c.LowerIsBetter = true
			if back := singles(candidate, baseline).Compare(c); back.Verdict != d.Verdict ||
				math.Abs(back.Interval[0]+high) > 1e-9 || math.Abs(back.P-d.P) > 1e-9 {
				t.Fatalf("%+v\nthe other way round: %+v", d, back)
			}
		}
	})
}

// TestVerdictOfUsersFollowsTheirInterval has users of different sizes, whose interval is resampled: a margin just
// inside its end is not kept, one just outside is, whatever Student's t would say.
func TestVerdictOfUsersFollowsTheirInterval(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.IntRange(1, 9), 6, 60).Draw(t, "sizes")
		score := rapid.SampledFrom([]float64{0, 0.25, 0.5, 1})
		var p stats.Pairs
		for user, size := range sizes {
			for range size {
				p.Add(strconv.Itoa(user), score.Draw(t, "baseline"), score.Draw(t, "candidate"))
			}
		}
		c := stats.Criterion{Range: 1, LowerIsBetter: rapid.Bool().Draw(t, "lower"), Seed: 1, Resamples: 500}
		gain := p.Compare(c).Interval
		if c.LowerIsBetter {
			gain = [2]float64{-gain[1], -gain[0]}
		}
		if gain[0] >= 0 || gain[1] < 0 || gain[0] < -0.999 {
			return
		}
		for _, margin := range []float64{-gain[0] * 0.999, -gain[0] * 1.001} {
			c.Margin.Absolute = margin
			want := stats.Inconclusive
			if gain[0] >= -margin {
				want = stats.NonInferior
			}
			if d := p.Compare(c); d.Verdict != want {
				t.Fatalf("margin %g, want %s: %+v", margin, want, d)
			}
		}
	})
}
