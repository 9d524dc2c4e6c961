package draw

import "slices"

// crossings counts the crossings of wires between neighbouring layers, in O(n log n).
// Source: W. Barth, M. Jünger and P. Mutzel, Simple and Efficient Bilayer Cross Counting, Graph Drawing 2002.
func (p *part) crossings() int {
	total := 0
	var targets []int
	for l := 1; l < len(p.layers); l++ {
		targets = targets[:0]
		for _, i := range p.layers[l-1] {
			from := len(targets)
			for _, d := range p.items[i].down {
				targets = append(targets, p.items[d].pos)
			}
			slices.Sort(targets[from:])
		}
		total += inversions(targets, len(p.layers[l]))
	}
	return total
}

// inversions counts the pairs in which a greater number comes first; all numbers are below n.
// It counts earlier numbers in a tree of sums (P. M. Fenwick, 1994).
func inversions(numbers []int, n int) int {
	tree := make([]int, n+1)
	count := 0
	for seen, x := range numbers {
		notGreater := 0
		for i := x + 1; i > 0; i -= i & -i {
			notGreater += tree[i]
		}
		count += seen - notGreater
		for i := x + 1; i <= n; i += i & -i {
			tree[i]++
		}
	}
	return count
}
