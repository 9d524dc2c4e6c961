package stats_test

import (
	"math"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rehearse-dev/rehearse/internal/base/stats"
)

// singles pairs each baseline with its candidate, one pair to a cluster.
func singles(baseline, candidate []float64) *stats.Pairs {
	var p stats.Pairs
	for i := range baseline {
		p.Add(strconv.Itoa(i), baseline[i], candidate[i])
	}
	return &p
}

// TestSleep has Student's own example, hours of sleep gained with two drugs: mean 1.58, t = 4.0621, p = 0.002833 and
// the interval from 0.7001 to 2.4599 (R: t.test(paired = TRUE) of the data set sleep).
func TestSleep(t *testing.T) {
	d := singles(
		[]float64{0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0, 2},
		[]float64{1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4},
	).Compare(stats.Criterion{})
	got := []float64{d.Baseline, d.Candidate, d.Mean, d.Mean / d.SE, d.P, d.Interval[0], d.Interval[1]}
	if diff := cmp.Diff([]float64{0.75, 2.33, 1.58, 4.0621, 0.002833, 0.7001, 2.4599}, got, near()); diff != "" {
		t.Errorf("difference mismatch (-want +got):\n%s", diff)
	}
	if d.N != 10 || d.Changed != 9 || d.Method != stats.MethodT || d.Verdict != stats.Better {
		t.Errorf("difference %+v", d)
	}
}

// pairsAlike has clusters of pairs that both fail.
func pairsAlike(clusters, size int) *stats.Pairs {
	var p stats.Pairs
	for i := range clusters * size {
		p.Add(strconv.Itoa(i/size), 0, 0)
	}
	return &p
}

func TestDifferenceOfLittle(t *testing.T) {
	ones := func(n int) []float64 { return make([]float64, n) }
	shifted := []float64{1, 1, 1, 1, 1, 1, 1}
	for _, tc := range []struct {
		name      string
		p         *stats.Pairs
		passFail  bool
		verdict   stats.Verdict
		interval  [2]float64
		detectInf bool
	}{
		{"nothing", &stats.Pairs{}, false, stats.Inconclusive, [2]float64{math.Inf(-1), math.Inf(1)}, true},
		{"no pass and no fail", &stats.Pairs{}, true, stats.Inconclusive, [2]float64{math.Inf(-1), math.Inf(1)}, true},
		{"six clusters fail twice", pairsAlike(6, 3), true, stats.Inconclusive, [2]float64{-0.5, 0.5}, false},
		{"one", singles(ones(1), ones(1)), false, stats.Inconclusive, [2]float64{math.Inf(-1), math.Inf(1)}, true},
		{
			"five are the same", singles(ones(5), ones(5)), false, stats.Inconclusive,
			[2]float64{math.Inf(-1), math.Inf(1)}, true,
		},
		{
			"six are the same", singles(ones(6), ones(6)), false, stats.NonInferior,
			[2]float64{math.Inf(-1), math.Inf(1)}, true,
		},
		{
			"five are better by 1", singles(ones(5), shifted[:5]), false, stats.Inconclusive,
			[2]float64{math.Inf(-1), math.Inf(1)}, true,
		},
		{"six are better by 1", singles(ones(6), shifted[:6]), false, stats.Better, [2]float64{1, 1}, false},
		// ±3/n with n = 6; to have passed what failed in six of six is found, in five of five it is not.
		{"six fail twice", singles(ones(6), ones(6)), true, stats.Inconclusive, [2]float64{-0.5, 0.5}, false},
		{"five pass what failed", singles(ones(5), shifted[:5]), true, stats.NonInferior, [2]float64{0, 1}, true},
		{
			"five of 30, and the same, by numbers", singles(ones(30), append(shifted[:5:5], ones(25)...)), false,
			stats.Better, [2]float64{0.0251, 0.3082}, false,
		},
		{"six pass what failed", singles(ones(6), shifted[:6]), true, stats.Better, [2]float64{0.2193, 1}, false},
	} {
		c := stats.Criterion{PassFail: tc.passFail}
		if tc.passFail && tc.p.Compare(c).N > 0 {
			c.Range = 1
		}
		d := tc.p.Compare(c)
		if diff := cmp.Diff(tc.interval, d.Interval, near()); diff != "" || d.Verdict != tc.verdict ||
			math.IsInf(d.Detectable, 1) != tc.detectInf {
			t.Errorf("%s: %+v\n%s", tc.name, d, diff)
		}
	}
	var p stats.Pairs
	p.Add("a", math.NaN(), 1)
	p.Add("a", 1, math.Inf(-1))
	p.Add("a", 0.1+0.2, 0.3) // rounding is no difference
	if d := p.Compare(stats.Criterion{}); d.Dropped != 2 || d.N != 1 || d.Changed != 0 || d.Mean != 0 {
		t.Errorf("difference %+v", d)
	}
}

// unequalPairs has clusters of one, two, three … pairs.
func unequalPairs(clusters int) *stats.Pairs {
	r := random(7)
	var p stats.Pairs
	for c := range clusters {
		for range c + 1 {
			p.Add(strconv.Itoa(c), r.Float64(), r.Float64())
		}
	}
	return &p
}

func TestMethods(t *testing.T) {
	clustered := &stats.Pairs{}
	for i := range 20 {
		clustered.Add(strconv.Itoa(i/2), float64(i%3/2), float64(i%5/4))
	}
	passFail := stats.Criterion{PassFail: true}
	for _, tc := range []struct {
		name string
		p    *stats.Pairs
		c    stats.Criterion
		want string
	}{
		{"few clusters", pairsOf(49, 2), stats.Criterion{}, stats.MethodT},
		{"enough clusters", pairsOf(50, 2), stats.Criterion{}, stats.MethodBootstrap},
		{"few clusters of different sizes", unequalPairs(6), stats.Criterion{}, stats.MethodBootstrap},
		{"too few clusters", unequalPairs(5), stats.Criterion{}, stats.MethodT},
		{"very many clusters", pairsOf(100_001, 1), stats.Criterion{}, stats.MethodBootstrap},
		{"pass or fail", singles([]float64{0, 1}, []float64{1, 1}), passFail, stats.MethodMcNemar},
		{"pass or fail in clusters", clustered, passFail, stats.MethodT},
		{"neither pass nor fail", singles([]float64{0, 0.5}, []float64{1, 1}), passFail, stats.MethodT},
		{"a relative margin", singles([]float64{0, 1}, []float64{1, 1}), stats.Criterion{
			PassFail: true, Margin: stats.Margin{Relative: 0.1},
		}, stats.MethodT},
	} {
		if d := tc.p.Compare(tc.c); d.Method != tc.want {
			t.Errorf("%s: method %q, want %q", tc.name, d.Method, tc.want)
		}
	}
}

// TestFewClustersDiffer: of 45 users of ten sessions each, one to four have one pair that differs. That is no more than
// nothing: ± 3/45.
func TestFewClustersDiffer(t *testing.T) {
	of := func(clusters, won, lost int) stats.Difference {
		var p stats.Pairs
		for i := range clusters * 10 {
			switch user := strconv.Itoa(i / 10); {
			case i%10 == 0 && i/10 < won:
				p.Add(user, 0, 1)
			case i%10 == 0 && i/10 >= clusters-lost:
				p.Add(user, 1, 0)
			default:
				p.Add(user, 1, 1)
			}
		}
		return p.Compare(stats.Criterion{PassFail: true, Range: 1, Margin: stats.Margin{Absolute: 0.05}})
	}
	for _, tc := range []struct {
		clusters, won, lost int
		want                stats.Verdict
	}{
		{45, 0, 0, stats.Inconclusive},
		{45, 1, 0, stats.Inconclusive},
		{45, 4, 0, stats.Inconclusive},
		{45, 0, 4, stats.Inconclusive},
		{45, 2, 2, stats.Inconclusive},
		{45, 6, 0, stats.Better},
		{45, 0, 6, stats.NonInferior}, // a loss of 1.3 points
		{60, 0, 0, stats.NonInferior},
		{60, 1, 1, stats.NonInferior},
	} {
		d := of(tc.clusters, tc.won, tc.lost)
		few := tc.won+tc.lost < 5
		bound := 3 / float64(tc.clusters)
		if d.Verdict != tc.want || few != (d.P > 0.05) ||
			few && (d.Interval[0] > -bound || d.Interval[1] < bound || d.Detectable < bound) {
			t.Errorf("%+v: %+v", tc, d)
		}
	}
}

// TestCompareAll: metrics that are compared together have the figures that each has by itself, if it is there in all
// clusters.
func TestCompareAll(t *testing.T) {
	one, two := pairsOf(60, 2), unequalPairs(60)
	criteria := []stats.Criterion{
		{Seed: 1},
		{Seed: 1, LowerIsBetter: true, Margin: stats.Margin{Relative: 0.1}},
		{Seed: 2, Resamples: 300},
	}
	var metrics []stats.Metric
	for _, c := range criteria {
		metrics = append(metrics, stats.Metric{Pairs: one, Criterion: c}, stats.Metric{Pairs: two, Criterion: c})
	}
	metrics = append(metrics, stats.Metric{Pairs: &stats.Pairs{}, Criterion: criteria[0]})
	for i, d := range stats.CompareAll(metrics) {
		alone := metrics[i].Pairs.Compare(metrics[i].Criterion)
		if d.Interval != alone.Interval || d.P != alone.P || d.Verdict != alone.Verdict || d.Method != alone.Method {
			t.Errorf("metric %d: %+v, by itself %+v", i, d, alone)
		}
	}
	if all := stats.CompareAll(nil); len(all) != 0 {
		t.Errorf("of nothing: %+v", all)
	}
}
