package stats

// LevenshteinSimilarity returns 1 − Levenshtein / the longer length: the share of the longer sequence that needs no edit.
// It is the default measure of "state progression match".
func LevenshteinSimilarity[T comparable](original, replay []T) float64 {
	longer := max(len(original), len(replay))
	return share(longer-Levenshtein(original, replay), longer)
}

// LCSSimilarity returns LCS / the longer length.
func LCSSimilarity[T comparable](original, replay []T) float64 {
	return share(LCS(original, replay), max(len(original), len(replay)))
}

// LCSDice returns 2·LCS / the sum of the lengths. It is the harmonic mean of the shares of each sequence that the other has in order.
//
// Source: L. R. Dice, Measures of the Amount of Ecologic Association Between Species, Ecology 26 (1945), for the quotient.
func LCSDice[T comparable](original, replay []T) float64 {
	return share(2*LCS(original, replay), len(original)+len(replay))
}

// NeedlemanWunschSimilarity returns the score divided by the longer length, which is the score of a sequence with itself. A negative
// score counts as 0.
func NeedlemanWunschSimilarity[T comparable](original, replay []T) float64 {
	return share(max(NeedlemanWunsch(original, replay), 0), max(len(original), len(replay)))
}

// PositionalMatch returns the share of the longer sequence's positions at which both have the same element.
func PositionalMatch[T comparable](original, replay []T) float64 {
	same := 0
	for i := range min(len(original), len(replay)) {
		if original[i] == replay[i] {
			same++
		}
	}
	return share(same, max(len(original), len(replay)))
}

// share returns part / whole, and 1 when the whole is 0: nothing is missing from nothing.
func share(part, whole int) float64 {
	if whole == 0 {
		return 1
	}
	return float64(part) / float64(whole)
}
