package stats

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
)

// Resamples is how often halves are drawn, unless a Criterion gives another number. Two seeds then differ by about 1 % of the interval's width.
const Resamples = 10_000

// minResamples is the least number of resamples that gives the ends of an interval.
const minResamples = 200

// halfMeans repeatedly draws a random half of the clusters, each with a chance of ½, and returns the sorted means of each column over all
// observations drawn. Columns are metrics of the same clusters: column[i] is what cluster i contributes, nothing where it has none. One draw
// serves all columns. The result depends on the seed alone, on no number of processors. Where nothing is drawn, the mean is infinite, with
// either sign.
//
// The share of halves whose mean is at most x is the p-value of a wild cluster bootstrap that imposes "the true mean is x or less": turning the sign
// of some clusters' deviations from x does not lower their sum exactly when the mean of these clusters is at most x. So the quantiles are the
// interval. It is exact where each cluster's sum deviates as likely up as down, as the differences of two equal lanes do, however
// large and however alike the observations of a cluster are.
//
// Source: A. C. Cameron, J. B. Gelbach and D. L. Miller, Bootstrap-Based Improvements for Inference with Clustered Errors, Review of
// Economics and Statistics 90 (2008), with signs as weights and the null imposed; J. A. Hartigan, Using Subsample Values as Typical
// Values, JASA 64 (1969), for the quantiles; I. A. Canay, A. Santos and A. M. Shaikh, The Wild Bootstrap with a "Small" Number of "Large"
// Clusters, Review of Economics and Statistics 103 (2021), for exactness.
func halfMeans(columns [][]clusterSum, resamples int, seed uint64) [][]float64 {
	table := newSumTable(columns)
	means := make([][]float64, len(columns))
	for i := range means {
		means[i] = make([]float64, resamples)
	}
	chunks := (resamples + chunkSize - 1) / chunkSize
	draw := func(first, step int) {
		half, totals := make([]uint64, (table.clusters+63)/64), make([]float64, len(table.blocks)*blockWidth)
		random := rand.NewPCG(seed, 0)
		for chunk := first; chunk < chunks; chunk += step {
			random.Seed(seed, uint64(chunk))
			for r := chunk * chunkSize; r < min((chunk+1)*chunkSize, resamples); r++ {
				for i := range half {
					half[i] = random.Uint64()
				}
				table.add(half, totals)
				nothing := math.Inf(1 - 2*int(random.Uint64()&1))
				for i, at := range table.at {
					if means[i][r] = nothing; totals[at[0]] > 0 {
						means[i][r] = totals[at[1]] / totals[at[0]]
					}
				}
			}
		}
	}
	if workers := min(runtime.GOMAXPROCS(0), chunks); workers > 1 && resamples*table.clusters > minParallelDraws {
		var all sync.WaitGroup
		for first := range workers {
			all.Go(func() { draw(first, workers) })
		}
		all.Wait()
	} else {
		draw(0, 1)
	}
	for i := range means {
		slices.Sort(means[i])
	}
	return means
}

const (
	// chunkSize is how many resamples come from one random stream.
	chunkSize = 250
	// minParallelDraws is the number of draws from which other processors are asked for help.
	minParallelDraws = 5_000_000
	// blockWidth is how many sums are added up at a time; they fit into registers.
	blockWidth = 4
)

// sumTable has the numbers and sums of all columns by cluster, each distinct list of them once.
type sumTable struct {
	clusters int
	blocks   [][][blockWidth]float64
	// at[i] are the places of the number and the sum of column i.
	at [][2]int
}

func newSumTable(columns [][]clusterSum) *sumTable {
	t := &sumTable{at: make([][2]int, len(columns))}
	var kept [][]float64
	place := func(column []clusterSum, value func(c clusterSum) float64) int {
		list := make([]float64, len(column))
		for i, c := range column {
			list[i] = value(c)
		}
		for i := range kept {
			if slices.Equal(kept[i], list) {
				return i
			}
		}
		kept = append(kept, list)
		return len(kept) - 1
	}
	for i, column := range columns {
		t.clusters = len(column)
		t.at[i] = [2]int{place(column, func(c clusterSum) float64 { return c.n }), place(column, func(c clusterSum) float64 { return c.sum })}
	}
	for first := 0; first < len(kept); first += blockWidth {
		block := make([][blockWidth]float64, t.clusters)
		for k, list := range kept[first:min(first+blockWidth, len(kept))] {
			for i, x := range list {
				block[i][k] = x
			}
		}
		t.blocks = append(t.blocks, block)
	}
	return t
}

// add sets the totals of the clusters whose bit is set.
func (t *sumTable) add(half []uint64, totals []float64) {
	for b, block := range t.blocks {
		var s0, s1, s2, s3 float64
		for _, bits := range half {
			rows := block[:min(64, len(block))]
			block = block[len(rows):]
			for i := range rows {
				times, row := float64(int64(bits&1)), &rows[i]
				bits >>= 1
				s0 += times * row[0]
				s1 += times * row[1]
				s2 += times * row[2]
				s3 += times * row[3]
			}
		}
		copy(totals[b*blockWidth:], []float64{s0, s1, s2, s3})
	}
}
