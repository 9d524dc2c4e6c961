package stats

import (
	"cmp"
	"slices"
)

// Holm returns p-values corrected for several comparisons: comparing each with 5 % makes a wrong rejection in at most 5 % of all families,
// however the comparisons depend on each other. The smallest is multiplied by their number, the next by one less, and so on. None is below
// the one before it, and none is above 1.
//
// Source: S. Holm, A Simple Sequentially Rejective Multiple Test Procedure, Scandinavian Journal of Statistics 6 (1979).
func Holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	adjusted := make([]float64, len(p))
	least := 0.0
	for rank, i := range order {
		least = max(least, min(1, p[i]*float64(len(p)-rank)))
		adjusted[i] = least
	}
	return adjusted
}
