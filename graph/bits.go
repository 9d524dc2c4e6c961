package graph

import mathbits "math/bits"

// bits is a set of small numbers. It takes no memory of its own until a number exceeds 63.
type bits struct {
	first uint64
	rest  []uint64 // from 64
}

// word returns where a number is kept, nil when the set has no room for it.
func (b *bits) word(n int) *uint64 {
	switch {
	case n < 64:
		return &b.first
	case n/64 <= len(b.rest):
		return &b.rest[n/64-1]
	}
	return nil
}

func (b *bits) has(n int) bool {
	word := b.word(n)
	return word != nil && *word>>(n%64)&1 == 1
}

func (b *bits) add(n int) {
	for len(b.rest) < n/64 {
		b.rest = append(b.rest, 0)
	}
	*b.word(n) |= 1 << (n % 64)
}

func (b *bits) remove(n int) {
	if word := b.word(n); word != nil {
		*word &^= 1 << (n % 64)
	}
}

func (b *bits) addAll(other bits) {
	for len(b.rest) < len(other.rest) {
		b.rest = append(b.rest, 0)
	}
	b.first |= other.first
	for i, word := range other.rest {
		b.rest[i] |= word
	}
}

func (b *bits) empty() bool {
	for _, word := range b.rest {
		if word != 0 {
			return false
		}
	}
	return b.first == 0
}

// meets reports whether two sets have a number in common.
func (b *bits) meets(other bits) bool {
	for i := range min(len(b.rest), len(other.rest)) {
		if b.rest[i]&other.rest[i] != 0 {
			return true
		}
	}
	return b.first&other.first != 0
}

// all yields the numbers in order; the set may lose numbers meanwhile.
func (b *bits) all(yield func(n int) bool) {
	for i := range len(b.rest) + 1 {
		for word := *b.word(i * 64); word != 0; word &= word - 1 {
			if !yield(i*64 + mathbits.TrailingZeros64(word)) {
				return
			}
		}
	}
}
