package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// columnsOf has observations of different numbers in clusters, for some metrics; the last one is missing in every third
// cluster.
func columnsOf(clusters, metrics int) [][]clusterSum {
	r := rand.New(rand.NewPCG(3, 9))
	columns := make([][]clusterSum, metrics)
	for m := range columns {
		columns[m] = make([]clusterSum, clusters)
		for c := range columns[m] {
			if m == metrics-1 && m > 0 && c%3 == 0 {
				continue
			}
			for range 1 + c%5 {
				columns[m][c].n++
				columns[m][c].sum += r.NormFloat64()
			}
		}
	}
	return columns
}

// TestHalfMeans compares the quantiles with those of all 2¹² halves.
func TestHalfMeans(t *testing.T) {
	columns := columnsOf(12, 5) // more than a block
	got := halfMeans(columns, 40_000, 42)
	for m, column := range columns {
		var all []float64
		for half := range 1 << 12 {
			var of clusterSum
			for c := range column {
				if half>>c&1 == 1 {
					of.n, of.sum = of.n+column[c].n, of.sum+column[c].sum
				}
			}
			mean := of.sum / of.n
			if of.n == 0 {
				mean = math.Inf(1 - 2*(half&1))
			}
			all = append(all, mean)
		}
		slices.Sort(all)
		for _, share := range []float64{0.025, 0.2, 0.5, 0.8, 0.975} {
			if is, want := midQuantile(got[m], share), midQuantile(all, share); math.Abs(is-want) > 0.03 {
				t.Errorf("metric %d: the quantile of %v is %v, of all halves %v", m, share, is, want)
			}
		}
	}
}

// TestHalfMeansTogether: one draw serves all metrics, so each is resampled as by itself; and as often with one
// processor as with two.
func TestHalfMeansTogether(t *testing.T) {
	columns := columnsOf(1_000, 9)
	together := halfMeans(columns, 6_000, 1)
	for m := range columns {
		if d := cmp.Diff(halfMeans(columns[m:m+1], 6_000, 1)[0], together[m]); d != "" {
			t.Fatalf("metric %d by itself (-) and with others (+):\n%s", m, d)
		}
	}
}

// plainHalfMeans is halfMeans by its definition: of every 500 resamples a stream of their own has, for each eight
// clusters, a byte of each.
func plainHalfMeans(column []clusterSum, resamples int, seed uint64) (means []float64) {
	for from := 0; from < resamples; from += 500 {
		random := rand.NewPCG(seed, uint64(from/500))
		totals := make([]clusterSum, 504)
		for first := 0; first < len(column); first += 8 {
			for r := 0; r < len(totals); r += 8 {
				for k, bits := 0, random.Uint64(); k < 8; k, bits = k+1, bits>>8 {
					for i := range min(8, len(column)-first) {
						if bits>>i&1 == 1 {
							totals[r+k].n, totals[r+k].sum = totals[r+k].n+column[first+i].n,
								totals[r+k].sum+column[first+i].sum
						}
					}
				}
			}
		}
		for _, of := range totals[:min(500, resamples-from)] {
			mean := math.Inf(1 - 2*int(random.Uint64()&1))
			if of.n > 0 {
				mean = of.sum / of.n
			}
			means = append(means, mean)
		}
	}
	slices.Sort(means)
	return means
}

// TestHalfMeansAreThoseOfTheirSeed: a seed stands for the same halves whatever makes drawing them faster. Sums of
// integers have no rounding, so the means are the same to the bit; clusters are of one size, of two, and missing.
func TestHalfMeansAreThoseOfTheirSeed(t *testing.T) {
	for _, clusters := range []int{1, 8, 31, 33, 500, 2_047} {
		columns := make([][]clusterSum, 3)
		for m := range columns {
			columns[m] = make([]clusterSum, clusters)
			for c := range columns[m] {
				columns[m][c] = clusterSum{n: float64([]int{3, 1 + c%2, c % 3 % 2}[m])}
				columns[m][c].sum = columns[m][c].n * float64(c*c%19-7)
			}
		}
		got := halfMeans(columns, 9_100, 7)
		for m, column := range columns {
			if want := plainHalfMeans(column, 9_100, 7); !slices.Equal(got[m], want) {
				t.Errorf("%d clusters, metric %d: other halves", clusters, m)
			}
		}
	}
}

// TestHalvesOfNothing: of one cluster every second half is empty; its mean is infinite, with either sign.
func TestHalvesOfNothing(t *testing.T) {
	means := halfMeans([][]clusterSum{{{1, 5}}}, 1_000, 42)[0]
	if !math.IsInf(means[0], -1) || means[500] != 5 || !math.IsInf(means[999], 1) {
		t.Errorf("means from %v over %v to %v", means[0], means[500], means[999])
	}
}

func TestMidQuantile(t *testing.T) {
	inf := math.Inf(1)
	// Nine values, of which three are 2: their middles are (1/2 + 1/2)/10, (2.5 + 1/2)/10, (4.5 + 1/2)/10 and so on.
	sorted := []float64{1, 2, 2, 2, 3, 4, 5, 6, 9}
	for _, tc := range []struct {
		sorted   []float64
		share, x float64
	}{
		{sorted, 0.1, 1},
		{sorted, 0.3, 2},
		{sorted, 0.5, 3},
		{sorted, 0.4, 2.5},
		{sorted, 0.2, 1.5},
		{sorted, 0.9, 9},
		{sorted, 0.85, 7.5},
		{[]float64{-inf, 1, 1, inf}, 0.5, 1},
	} {
		if x := midQuantile(tc.sorted, tc.share); math.Abs(x-tc.x) > 1e-12 {
			t.Errorf("the quantile of %v is %v, want %v", tc.share, x, tc.x)
		}
		if share := midShare(tc.sorted, tc.x); math.Abs(share-tc.share) > 1e-12 {
			t.Errorf("the share up to %v is %v, want %v", tc.x, share, tc.share)
		}
	}
	for _, tc := range []struct {
		share, want float64
	}{{0.01, -inf}, {0.3, -inf}, {0.31, -inf}, {0.5, 1}, {0.6, inf}, {0.99, inf}} {
		if x := midQuantile([]float64{-inf, 1, inf}, tc.share); x != tc.want {
			t.Errorf("the quantile of %v between infinities is %v, want %v", tc.share, x, tc.want)
		}
	}
	if low, high := midShare(sorted, 0), midShare(sorted, 10); low != 0.05 || high != 0.95 {
		t.Errorf("beyond all values the shares are %v and %v", low, high)
	}
}

// TestMidQuantileLaws: the ends of an interval and the p-value never contradict each other.
func TestMidQuantileLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.SampledFrom([]float64{
			math.Inf(-1), -2, -1, -0.25, 0, 0, 0.5, 1, 3, math.Inf(1),
		}), minResamples, 300).Draw(t, "values")
		slices.Sort(values)
		last := math.Inf(-1)
		for _, share := range []float64{0.01, 0.025, 0.1, 0.35, 0.5, 0.9, 0.975, 0.99} {
			x := midQuantile(values, share)
			if x < last || math.IsNaN(x) {
				t.Fatalf("the quantile of %v is %v, after %v", share, x, last)
			}
			last = x
			if below := midShare(values, 0); (x > 0) != (below < share) && math.Abs(below-share) > 1e-12 && x != 0 {
				t.Fatalf("the quantile of %v is %v, and the share up to 0 is %v", share, x, below)
			}
		}
	})
}
