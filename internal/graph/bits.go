package graph

import mathbits "math/bits"

// bits is a set of small numbers.
type bits []uint64

func (b bits) has(n int) bool { return n/64 < len(b) && b[n/64]>>(n%64)&1 == 1 }

func (b *bits) add(n int) {
	for len(*b) <= n/64 {
		*b = append(*b, 0)
	}
	(*b)[n/64] |= 1 << (n % 64)
}

func (b bits) remove(n int) {
	if b.has(n) {
		b[n/64] &^= 1 << (n % 64)
	}
}

func (b *bits) addAll(other bits) {
	for len(*b) < len(other) {
		*b = append(*b, 0)
	}
	for i, word := range other {
		(*b)[i] |= word
	}
}

func (b bits) empty() bool {
	for _, word := range b {
		if word != 0 {
			return false
		}
	}
	return true
}

// meets reports whether two sets have a number in common.
func (b bits) meets(other bits) bool {
	for i := range min(len(b), len(other)) {
		if b[i]&other[i] != 0 {
			return true
		}
	}
	return false
}

// all yields the numbers in order; the set may lose numbers meanwhile.
func (b bits) all(yield func(n int) bool) {
	for i, word := range b {
		for ; word != 0; word &= word - 1 {
			if !yield(i*64 + mathbits.TrailingZeros64(word)) {
				return
			}
		}
	}
}
