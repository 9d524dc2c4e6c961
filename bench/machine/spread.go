package machine

import "slices"

// Spread is the median of several measurements with their extremes.
type Spread[T ~int64 | ~float64] struct{ Least, Median, Most T }

// SpreadOf returns the spread of values, which it leaves unsorted; the zero Spread if there are none.
func SpreadOf[T ~int64 | ~float64](values []T) Spread[T] {
	if len(values) == 0 {
		return Spread[T]{}
	}
	all := slices.Sorted(slices.Values(values))
	return Spread[T]{all[0], (all[(len(all)-1)/2] + all[len(all)/2]) / 2, all[len(all)-1]}
}
