package stats_test

import (
	"math"
	"strconv"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/stats"
)

// TestBootstrapOfNormal compares the bootstrap of many normal differences with Student's t, which is exact for them.
func TestBootstrapOfNormal(t *testing.T) {
	r := random(21)
	var differences []float64
	for range 400 {
		differences = append(differences, 0.1+r.NormFloat64())
	}
	d := singles(make([]float64, len(differences)), differences).Compare(stats.Criterion{Seed: 42})
	exact := stats.TInterval(differences)
	for i := range exact {
		if math.Abs(d.Interval[i]-exact[i]) > 0.05*(exact[1]-exact[0]) {
			t.Errorf("bootstrap %v, t %v", d.Interval, exact)
		}
	}
	if d.Method != stats.MethodBootstrap || d.SE <= 0 {
		t.Errorf("difference %+v", d)
	}
}

// TestBootstrapIsReproducible: the same seed gives the same bits, in whatever order clusters come; another seed gives
// nearly the same.
func TestBootstrapIsReproducible(t *testing.T) {
	r := random(22)
	var there, back stats.Pairs
	values := make([]float64, 120)
	for i := range values {
		values[i] = r.Float64()
	}
	for i := range values {
		there.Add(strconv.Itoa(i), 0.5, values[i])
		back.Add(strconv.Itoa(len(values)-1-i), 0.5, values[len(values)-1-i])
	}
	a, b := there.Compare(stats.Criterion{Seed: 42}), back.Compare(stats.Criterion{Seed: 42})
	if a.Interval != b.Interval || a.P != b.P {
		t.Errorf("%v and %v", a.Interval, b.Interval)
	}
	c := there.Compare(stats.Criterion{Seed: 43})
	if off := math.Abs(a.Interval[0] - c.Interval[0]); off == 0 || off > 0.03*(a.Interval[1]-a.Interval[0]) {
		t.Errorf("seed 42 %v, seed 43 %v", a.Interval, c.Interval)
	}
}

// TestBootstrapResamplesWholeClusters has clusters of ten equal observations: they are worth one each.
func TestBootstrapResamplesWholeClusters(t *testing.T) {
	r := random(23)
	var one, ten stats.Pairs
	for i := range 60 {
		x := r.NormFloat64()
		one.Add(strconv.Itoa(i), 0, x)
		for range 10 {
			ten.Add(strconv.Itoa(i), 0, x)
		}
	}
	a, b := one.Compare(stats.Criterion{}), ten.Compare(stats.Criterion{})
	for i := range a.Interval {
		if math.Abs(a.Interval[i]-b.Interval[i]) > 1e-9 {
			t.Errorf("once %v, ten times %v", a.Interval, b.Interval)
		}
	}
	if math.Abs(b.DesignEffect-10*599./590) > 1e-9 || math.Abs(*b.ICC-1) > 1e-9 {
		t.Errorf("design effect %v, ICC %v", b.DesignEffect, b.ICC)
	}
}

// TestBootstrapAllocatesNothingPerResample counts those of few and of many resamples.
func TestBootstrapAllocatesNothingPerResample(t *testing.T) {
	p := pairsOf(100, 1)
	allocations := func(resamples int) float64 {
		return testing.AllocsPerRun(1, func() { p.Compare(stats.Criterion{Resamples: resamples}) })
	}
	if few, many := allocations(200), allocations(10_000); many > few+2 {
		t.Errorf("%v allocations with 200 resamples, %v with 10,000", few, many)
	}
}
