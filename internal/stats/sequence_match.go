package stats

import "slices"

// The matches below take the original as what was wanted and the replay as what was done, like graders of tool calls. An element
// counts as often as it occurs.

// ExactMatch reports whether the sequences are equal.
func ExactMatch[T comparable](original, replay []T) bool { return slices.Equal(original, replay) }

// InOrderMatch reports whether the replay has the elements of the original in their order; others may come between.
func InOrderMatch[T comparable](original, replay []T) bool {
	wanted := original
	for _, x := range replay {
		if len(wanted) > 0 && wanted[0] == x {
			wanted = wanted[1:]
		}
	}
	return len(wanted) == 0
}

// AnyOrderMatch reports whether the replay has the elements of the original and no others, in any order.
func AnyOrderMatch[T comparable](original, replay []T) bool {
	return len(original) == len(replay) && shared(original, replay) == len(original)
}

// SequencePrecision returns the share of the replay's elements that the original has, too. It is 0 when only the replay is empty.
//
// Source: C. J. van Rijsbergen, Information Retrieval (1979), chapter 7, over multisets.
func SequencePrecision[T comparable](original, replay []T) float64 {
	return shareOf(shared(original, replay), len(replay), len(original))
}

// SequenceRecall returns the share of the original's elements that the replay has, too. It is 0 when only the original is empty, and 1
// when the replay has all of them, in any order and among others.
//
// Source: as for SequencePrecision.
func SequenceRecall[T comparable](original, replay []T) float64 {
	return shareOf(shared(original, replay), len(original), len(replay))
}

// shareOf returns part / whole. For an empty whole, it is 1 when the other is empty, too, and 0 otherwise.
func shareOf(part, whole, other int) float64 {
	if whole == 0 && other > 0 {
		return 0
	}
	return share(part, whole)
}

// shared returns the size of the intersection of the sequences as multisets.
func shared[T comparable](original, replay []T) int {
	left := make(map[T]int, len(original))
	for _, x := range original {
		left[x]++
	}
	n := 0
	for _, x := range replay {
		if left[x] > 0 {
			left[x]--
			n++
		}
	}
	return n
}
