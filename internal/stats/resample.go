package stats

import (
	"encoding/binary"
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
		totals := make([][chunkSize]sums, len(table.blocks))
		random := rand.NewPCG(seed, 0)
		for chunk := first; chunk < chunks; chunk += step {
			random.Seed(seed, uint64(chunk))
			clear(totals)
			table.add(random, totals)
			for r := chunk * chunkSize; r < min((chunk+1)*chunkSize, resamples); r++ {
				nothing := math.Inf(1 - 2*int(random.Uint64()&1))
				for i, at := range table.at {
					n, sum := totals[at.n.block][r%chunkSize][at.n.column], totals[at.sum.block][r%chunkSize][at.sum.column]
					if means[i][r] = nothing; n > 0 {
						means[i][r] = sum / n
					}
				}
			}
		}
	}
	if workers := min(runtime.GOMAXPROCS(0), chunks); workers > 1 && resamples*len(table.blocks[0]) > minParallelDraws {
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
	// chunkSize is how many resamples come from one random stream, and are added up together. Their totals fit into a processor's first cache.
	chunkSize = 500
	// groupSize is how many clusters are drawn by one random byte.
	groupSize = 8
	// minParallelDraws is the number of draws from which other processors are asked for help.
	minParallelDraws = 5_000_000
)

// sums are numbers that are added up together; they fit into registers.
type sums [4]float64

func (s *sums) add(t *sums) {
	s[0], s[1], s[2], s[3] = s[0]+t[0], s[1]+t[1], s[2]+t[2], s[3]+t[3]
}

// sumTable has the numbers and sums of all columns by cluster, each distinct list of them once.
type sumTable struct {
	// blocks[b] has some lists by cluster. Their number of clusters is a multiple of groupSize; the last ones may be empty.
	blocks [][]sums
	// at[i] are the places of the number and the sum of column i.
	at []struct{ n, sum place }
}

type place struct{ block, column int }

func newSumTable(columns [][]clusterSum) *sumTable {
	t := &sumTable{at: make([]struct{ n, sum place }, len(columns))}
	var kept [][]float64
	keep := func(column []clusterSum, value func(c clusterSum) float64) place {
		list := make([]float64, len(column))
		for i, c := range column {
			list[i] = value(c)
		}
		i := slices.IndexFunc(kept, func(k []float64) bool { return slices.Equal(k, list) })
		if i < 0 {
			i, kept = len(kept), append(kept, list)
		}
		return place{i / len(sums{}), i % len(sums{})}
	}
	clusters := 0
	for i, column := range columns {
		clusters = (len(column) + groupSize - 1) / groupSize * groupSize
		t.at[i].n = keep(column, func(c clusterSum) float64 { return c.n })
		t.at[i].sum = keep(column, func(c clusterSum) float64 { return c.sum })
	}
	for i, list := range kept {
		if i%len(sums{}) == 0 {
			t.blocks = append(t.blocks, make([]sums, clusters))
		}
		for c, x := range list {
			t.blocks[len(t.blocks)-1][c][i%len(sums{})] = x
		}
	}
	return t
}

// add adds to each total of a chunk a random half of the clusters. The sums of all 256 halves of a group are looked up.
//
// Source: V. L. Arlazarov, E. A. Dinic, M. A. Kronrod and I. A. Faradžev, On Economical Construction of the Transitive Closure of a Directed Graph,
// Soviet Mathematics Doklady 11 (1970), the "method of the Four Russians".
func (t *sumTable) add(random *rand.PCG, totals [][chunkSize]sums) {
	var halves [1 << groupSize]sums
	var drawn [(chunkSize + 7) / 8 * 8]byte
	for first := 0; first < len(t.blocks[0]); first += groupSize {
		for i := 0; i < len(drawn); i += 8 {
			binary.LittleEndian.PutUint64(drawn[i:], random.Uint64())
		}
		for b, block := range t.blocks {
			for k := range groupSize {
				for i := range 1 << k {
					halves[1<<k+i] = halves[i]
					halves[1<<k+i].add(&block[first+k])
				}
			}
			for r := range totals[b] {
				totals[b][r].add(&halves[drawn[r]])
			}
		}
	}
}
