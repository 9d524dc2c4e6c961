package stats

import (
	"math"
	"slices"
)

// sums are numbers that are added up together.
type sums [4]float64

func (s *sums) add(t *sums) {
	s[0], s[1], s[2], s[3] = s[0]+t[0], s[1]+t[1], s[2]+t[2], s[3]+t[3]
}

// sumTable has the numbers and sums of all columns by cluster, each distinct list of them once.
type sumTable struct {
	// clusters is how many there are, without those that fill up the last groups.
	clusters int
	// blocks[b] has some lists by cluster. Their number of clusters is a multiple of groupSize·together; the last ones
	// may be empty.
	blocks  [][]sums
	columns []summed
	// counted is true where the clusters drawn have to be counted.
	counted bool
}

// summed says where the number and the sum of a column are. Where each cluster has as many observations, that is each,
// and the number is no list.
type summed struct {
	each   float64
	n, sum place
}

type place struct{ block, column int }

func newSumTable(columns [][]clusterSum) *sumTable {
	t := &sumTable{}
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
	for _, column := range columns {
		t.clusters = len(column)
		s := summed{each: sizeOfEach(column), sum: keep(column, func(c clusterSum) float64 { return c.sum })}
		if t.counted = t.counted || s.each > 0; s.each == 0 {
			s.n = keep(column, func(c clusterSum) float64 { return c.n })
		}
		t.columns = append(t.columns, s)
	}
	const step = groupSize * together
	for i, list := range kept {
		if i%len(sums{}) == 0 {
			t.blocks = append(t.blocks, make([]sums, (t.clusters+step-1)/step*step))
		}
		for c, x := range list {
			t.blocks[len(t.blocks)-1][c][i%len(sums{})] = x
		}
	}
	return t
}

// sizeOfEach returns the number of observations that every cluster has; 0 where clusters differ in it.
func sizeOfEach(column []clusterSum) float64 {
	if len(column) == 0 {
		return 0
	}
	for _, c := range column {
		if c.n != column[0].n {
			return 0
		}
	}
	return column[0].n
}

// add adds to each total of some chunks a random half of the clusters. The sums of all 256 halves of a group are looked
// up.
//
// Source: V. L. Arlazarov, E. A. Dinic, M. A. Kronrod and I. A. Faradžev, On Economical Construction of the Transitive
// Closure of a Directed Graph, Soviet Mathematics Doklady 11 (1970), the "method of the Four Russians".
func (t *sumTable) add(chunks []chunk) {
	const step = groupSize * together
	halves := make([][together][1 << groupSize]sums, len(t.blocks))
	for first := 0; first < len(t.blocks[0]); first += step {
		for b, block := range t.blocks {
			for g := range together {
				halvesOf(&halves[b][g], block[first+g*groupSize:])
			}
		}
		for i := range chunks {
			c := &chunks[i]
			for g := range together {
				c.draw(g, t.clusters-first-g*groupSize, t.counted)
			}
			for b := range t.blocks {
				addHalves(&c.totals[b], &halves[b], &c.drawn)
			}
			if groups := first/groupSize + together; groups%maxUncounted == 0 || first+step >= len(t.blocks[0]) {
				c.count()
			}
		}
	}
}

// halvesOf fills in the sums of all halves of the first groupSize clusters of a block.
func halvesOf(halves *[1 << groupSize]sums, block []sums) {
	for k := range groupSize {
		for i := range 1 << k {
			halves[1<<k+i] = halves[i]
			halves[1<<k+i].add(&block[k])
		}
	}
}

// addHalves adds to each total its halves of four groups, one after the other. It is what comparing large runs takes
// its time for, so it has no loop inside.
func addHalves(totals *[chunkSize]sums, halves *[together][1 << groupSize]sums, drawn *[together][words * 8]byte) {
	for r := range totals {
		total := &totals[r]
		a, b, c, d := &halves[0][drawn[0][r]], &halves[1][drawn[1][r]], &halves[2][drawn[2][r]], &halves[3][drawn[3][r]]
		total[0] = total[0] + a[0] + b[0] + c[0] + d[0]
		total[1] = total[1] + a[1] + b[1] + c[1] + d[1]
		total[2] = total[2] + a[2] + b[2] + c[2] + d[2]
		total[3] = total[3] + a[3] + b[3] + c[3] + d[3]
	}
}

// means fills in the means of every column over what the resamples of a chunk have drawn, from a place to another.
func (t *sumTable) means(c *chunk, means [][]float64, from, to int) {
	for r := range to - from {
		nothing := math.Inf(1 - 2*int(c.random.Uint64()&1))
		for i, of := range t.columns {
			n, mean := of.each*float64(c.number[r]), nothing
			if of.each == 0 {
				n = c.totals[of.n.block][r][of.n.column]
			}
			if n > 0 {
				mean = c.totals[of.sum.block][r][of.sum.column] / n
			}
			means[i][from+r] = mean
		}
	}
}

// chunks returns room for so many chunks.
func (t *sumTable) chunks(n int) []chunk {
	all, totals := make([]chunk, n), make([][chunkSize]sums, n*len(t.blocks))
	for i := range all {
		all[i].totals = totals[i*len(t.blocks) : (i+1)*len(t.blocks)]
	}
	return all
}
