package stats

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
)

// resampleMeans repeatedly draws as many clusters as there are, with replacement, and returns the sorted means of each column over all
// observations drawn. Columns are metrics of the same clusters: column[i] is what cluster i contributes, nothing where it has none. One draw of
// clusters serves all columns. The result depends on the seed alone, on no number of processors.
//
// Each random number draws two clusters, by its 32 high and its 32 low bits. This prefers some clusters to others by less than one in a
// hundred thousand.
//
// Source: B. Efron, Bootstrap Methods: Another Look at the Jackknife, The Annals of Statistics 7 (1979); A. C. Cameron, J. B. Gelbach and
// D. L. Miller, Bootstrap-Based Improvements for Inference with Clustered Errors, Review of Economics and Statistics 90 (2008), for
// whole clusters ("pairs cluster bootstrap"); D. Lemire, Fast Random Integer Generation in an Interval, ACM TOMACS 29 (2019).
func resampleMeans(columns [][]clusterSum, resamples int, seed uint64) [][]float64 {
	table := newSumTable(columns)
	means := make([][]float64, len(columns))
	for i := range means {
		means[i] = make([]float64, resamples)
	}
	chunks := (resamples + chunkSize - 1) / chunkSize
	draw := func(first, step int) {
		counts, totals := make([]uint8, table.clusters), make([]float64, len(table.blocks)*blockWidth)
		for chunk := first; chunk < chunks; chunk += step {
			random := rand.NewPCG(seed, uint64(chunk))
			for r := chunk * chunkSize; r < min((chunk+1)*chunkSize, resamples); r++ {
				drawClusters(random, counts)
				table.add(counts, totals)
				for i, at := range table.at {
					means[i][r] = totals[at[1]] / totals[at[0]]
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

// drawClusters sets how often each cluster is drawn. None is drawn more than 255 times: of 256 clusters or more, that has a chance below 10⁻⁵⁰⁰.
func drawClusters(random *rand.PCG, counts []uint8) {
	clear(counts)
	g := uint64(len(counts))
	for range len(counts) / 2 {
		bits := random.Uint64()
		counts[((bits>>32)*g)>>32]++
		counts[((bits&0xffffffff)*g)>>32]++
	}
	if len(counts)%2 == 1 {
		counts[((random.Uint64()>>32)*g)>>32]++
	}
}

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

// add sets the totals of the clusters drawn.
func (t *sumTable) add(counts []uint8, totals []float64) {
	for b, block := range t.blocks {
		var s0, s1, s2, s3 float64
		block = block[:len(counts)]
		for i, n := range counts {
			times, row := float64(n), &block[i]
			s0 += times * row[0]
			s1 += times * row[1]
			s2 += times * row[2]
			s3 += times * row[3]
		}
		copy(totals[b*blockWidth:], []float64{s0, s1, s2, s3})
	}
}
