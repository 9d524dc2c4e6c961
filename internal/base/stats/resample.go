package stats

import (
	"encoding/binary"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
)

// Resamples is how often halves are drawn, unless a Criterion gives another number. Two seeds then differ by about 1 %
// of the interval's width.
const Resamples = 10_000

// minResamples is the least number of resamples that gives the ends of an interval.
const minResamples = 200

// halfMeans repeatedly draws a random half of the clusters, each with a chance of ½, and returns the sorted means of
// each column over all observations drawn. Columns are metrics of the same clusters: column[i] is what cluster i
// contributes, nothing where it has none. One draw serves all columns. The result depends on the seed alone, on no
// number of processors. Where nothing is drawn, the mean is infinite, with either sign.
//
// The share of halves whose mean is at most x is the p-value of a wild cluster bootstrap that imposes "the true mean is
// x or less": turning the sign of some clusters' deviations from x does not lower their sum exactly when the mean of
// these clusters is at most x. So the quantiles are the interval. It is exact where each cluster's sum deviates as
// likely up as down, as the differences of two equal lanes do, however large and however alike the observations of a
// cluster are.
//
// Source: A. C. Cameron, J. B. Gelbach and D. L. Miller, Bootstrap-Based Improvements for Inference with Clustered
// Errors, Review of Economics and Statistics 90 (2008), with signs as weights and the null imposed; J. A. Hartigan,
// Using Subsample Values as Typical Values, JASA 64 (1969), for the quantiles; I. A. Canay, A. Santos and A. M. Shaikh,
// The Wild Bootstrap with a "Small" Number of "Large" Clusters, Review of Economics and Statistics 103 (2021), for
// exactness.
func halfMeans(columns [][]clusterSum, resamples int, seed uint64) [][]float64 {
	columns = inGroups(columns, seed)
	table := newSumTable(columns)
	means := make([][]float64, len(columns))
	for i := range means {
		means[i] = make([]float64, resamples)
	}
	chunks, workers := (resamples+chunkSize-1)/chunkSize, 1
	if resamples*table.clusters > minParallelDraws {
		workers = min(runtime.GOMAXPROCS(0), chunks)
	}
	several := min(maxChunks, (chunks+workers-1)/workers)
	draw := func(worker int) {
		all := table.chunks(several)
		for first := worker * several; first < chunks; first += workers * several {
			some := all[:min(several, chunks-first)]
			for i := range some {
				some[i].begin(seed, first+i)
			}
			table.add(some)
			for i := range some {
				from := (first + i) * chunkSize
				table.means(&some[i], means, from, min(from+chunkSize, resamples))
			}
		}
	}
	var all sync.WaitGroup
	for worker := range workers - 1 {
		all.Go(func() { draw(1 + worker) })
	}
	draw(0)
	all.Wait()
	for i := range means {
		slices.Sort(means[i])
	}
	return means
}

const (
	// chunkSize is how many resamples come from one random stream.
	chunkSize = 500
	// maxChunks is how many chunks are drawn at once: the sums of halves are made once for all of them.
	maxChunks = 16
	// groupSize is how many clusters are drawn by one random byte.
	groupSize = 8
	// together is how many groups are added to a total at once. Their tables fit into a processor's first cache.
	together = 4
	// minParallelDraws is the number of draws from which other processors are asked for help.
	minParallelDraws = 5_000_000
	// words is how many random words are drawn for a group: one has the bytes of eight resamples.
	words = (chunkSize + 7) / 8
)

// chunk are some resamples from one random stream.
type chunk struct {
	random rand.PCG
	// totals are those of the clusters that each resample has drawn, block by block.
	totals [][chunkSize]sums
	// drawn says which clusters of each group that is being added each resample has drawn: a byte a resample.
	drawn [together][words * 8]byte
	// lately has in each byte how many clusters a resample has drawn since number counted them.
	lately [words]uint64
	number [words * 8]uint32
}

// begin makes a chunk the nth.
func (c *chunk) begin(seed uint64, nth int) {
	c.random.Seed(seed, uint64(nth))
	clear(c.totals)
	clear(c.number[:])
}

// draw draws from a group, from which on there are so many clusters.
func (c *chunk) draw(group, clusters int, counted bool) {
	if clusters <= 0 { // the group fills up
		clear(c.drawn[group][:])
		return
	}
	const eachByte = 0x0101010101010101
	mask := uint64(eachByte * (1<<min(clusters, groupSize) - 1))
	for i := range c.lately {
		bits := c.random.Uint64()
		binary.LittleEndian.PutUint64(c.drawn[group][i*8:], bits)
		if counted {
			c.lately[i] += onesOfBytes(bits & mask)
		}
	}
}

// onesOfBytes returns how many bits of each byte are 1, in that byte.
//
// Source: D. E. Knuth, The Art of Computer Programming 4A (2011), 7.1.3, on sideways addition.
func onesOfBytes(x uint64) uint64 {
	x -= x >> 1 & 0x5555555555555555
	x = x&0x3333333333333333 + x>>2&0x3333333333333333
	return (x + x>>4) & 0x0f0f0f0f0f0f0f0f
}

// maxUncounted is how many groups can be drawn before a byte of lately has no room for another.
const maxUncounted = 0xff / groupSize / together * together

// count adds what was drawn lately to the numbers.
func (c *chunk) count() {
	for i, few := range c.lately {
		for k := range 8 {
			c.number[i*8+k] += uint32(few >> (8 * k) & 0xff)
		}
	}
	clear(c.lately[:])
}
