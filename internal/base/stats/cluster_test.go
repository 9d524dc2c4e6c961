package stats_test

import (
	"math"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rehearse-dev/rehearse/internal/base/stats"
)

func clustersOf(of [][]float64) *stats.Clusters {
	var c stats.Clusters
	for i, xs := range of {
		for _, x := range xs {
			c.Add(strconv.Itoa(i), x)
		}
	}
	return &c
}

func TestClusteredMean(t *testing.T) {
	// Off the mean of 3.5 the clusters are −3, −1.5 and 4.5; with shares of 1/3, 1/6 and 1/2 that is 9/(2/3) +
	// 2.25/(5/6) + 20.25/(1/2) = 56.7, and SE = √56.7 / 6. DF = 1/(14/36 + 0.7² − (1/36 + 1/900 + 1/4)) = 1/0.6. ICC:
	// MSB = (2·1.5² + 1.5² + 3·1.5²)/2 = 6.75, MSW = (2 + 2)/3, n₀ = (6 − 14/6)/2 = 11/6.
	m := clustersOf([][]float64{{1, 3}, {2}, {6, 4, 5}}).Mean()
	icc := (6.75 - 4./3) / (6.75 + 5./6*4./3)
	usual := math.Sqrt(17.5 / 5 / 6)
	want := []float64{6, 3, 3.5, math.Sqrt(56.7) / 6, 5. / 3, icc, math.Pow(math.Sqrt(56.7)/6/usual, 2)}
	got := []float64{float64(m.N), float64(m.Clusters), m.Mean, m.SE, m.DF, m.ICC, m.DesignEffect}
	if d := cmp.Diff(want, got, published()); d != "" {
		t.Errorf("clustered mean mismatch (-want +got):\n%s", d)
	}
}

// TestICC has the ratings of Shrout and Fleiss (1979), table 2: ICC(1,1) = 0.17 of six targets with four judges, MSB
// 11.24, MSW 6.26.
func TestICC(t *testing.T) {
	m := clustersOf([][]float64{{9, 2, 5, 8}, {6, 1, 3, 2}, {8, 4, 6, 8}, {7, 1, 2, 6}, {10, 5, 6, 9}, {6, 2, 4, 7}}).
		Mean()
	if math.Abs(m.ICC-0.165742) > 1e-6 {
		t.Errorf("ICC = %v, want 0.17", m.ICC)
	}
}

// Where nothing varies, neither between clusters nor within them, nothing tells the observations of a cluster apart
// from any others.
func TestICCOfObservationsThatAreAllAlike(t *testing.T) {
	if m := clustersOf([][]float64{{1, 1}, {1, 1}, {1, 1, 1}}).Mean(); m.ICC != 0 {
		t.Errorf("ICC = %v, want 0", m.ICC)
	}
}

func TestClusteredMeanOfLittle(t *testing.T) {
	infinite := [2]float64{math.Inf(-1), math.Inf(1)}
	for _, tc := range []struct {
		name      string
		of        [][]float64
		mean, se  float64
		interval  [2]float64
		icc, deff float64
	}{
		{"nothing", nil, 0, math.Inf(1), infinite, 0, 1},
		{"one cluster", [][]float64{{0, 1, 1}}, 2. / 3, math.Inf(1), infinite, 0, 1},
		{"five that are alike", [][]float64{{1}, {1}, {1}, {1}, {1}}, 1, 0, infinite, 0, 1},
		{"six that are alike", [][]float64{{1}, {1}, {1}, {1}, {1}, {1}}, 1, 0, [2]float64{1, 1}, 0, 1},
		{"clusters of the same", [][]float64{{0, 0}, {1, 1}}, 0.5, 0.5, [2]float64{-5.8531, 6.8531}, 1, 3},
	} {
		m := clustersOf(tc.of).Mean()
		want := []float64{tc.mean, tc.se, tc.interval[0], tc.interval[1], tc.icc, tc.deff}
		got := []float64{m.Mean, m.SE, m.Interval[0], m.Interval[1], m.ICC, m.DesignEffect}
		if d := cmp.Diff(want, got, near()); d != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, d)
		}
	}
	var c stats.Clusters
	c.Add("a", math.NaN())
	c.Add("b", math.Inf(1))
	if m := c.Mean(); m.Dropped != 2 || m.N != 0 || m.Clusters != 0 {
		t.Errorf("what is no number counts: %+v", m)
	}
}

func TestClusterLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		xs := rapid.SliceOfN(rapid.Float64Range(-1, 1), 6, 40).Draw(t, "xs")
		var single, doubled stats.Clusters
		for i, x := range xs {
			single.Add(strconv.Itoa(i), x)
			doubled.Add(strconv.Itoa(i), x)
			doubled.Add(strconv.Itoa(i), x)
		}
		// Clusters of one observation are no clusters, and saying everything twice adds nothing.
		one, two := single.Mean(), doubled.Mean()
		want := stats.TInterval(xs)
		for _, m := range []stats.ClusteredMean{one, two} {
			if math.Abs(m.Interval[0]-want[0]) > 1e-9 || math.Abs(m.Interval[1]-want[1]) > 1e-9 {
				t.Fatalf("clustered %v, t %v", m.Interval, want)
			}
		}
		if math.Abs(one.DesignEffect-1) > 1e-9 || one.ICC != 0 {
			t.Fatalf("design effect %v, ICC %v of single observations", one.DesignEffect, one.ICC)
		}
		shuffled := rapid.Permutation(indices(len(xs))).Draw(t, "order")
		var mixed stats.Clusters
		for _, i := range shuffled {
			mixed.Add(strconv.Itoa(i), xs[i])
		}
		if d := cmp.Diff(one, mixed.Mean()); d != "" { // to the last bit
			t.Fatalf("the order of clusters counts:\n%s", d)
		}
	})
}

// TestKish compares the design effect of clusters of one size with Kish's 1 + (m − 1)·ICC, which it nears for many of
// them.
func TestKish(t *testing.T) {
	r := random(11)
	var c stats.Clusters
	for i := range 2_000 {
		shared := r.NormFloat64()
		for range 5 {
			c.Add(strconv.Itoa(i), shared+r.NormFloat64()) // ICC 0.5
		}
	}
	m := c.Mean()
	if math.Abs(m.ICC-0.5) > 0.03 || math.Abs(m.DesignEffect-(1+4*m.ICC)) > 0.01 {
		t.Errorf("ICC %v, design effect %v", m.ICC, m.DesignEffect)
	}
}
