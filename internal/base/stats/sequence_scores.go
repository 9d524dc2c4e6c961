package stats

import (
	"slices"
)

// SequenceScores has every measure of two sequences but their alignment.
type SequenceScores struct {
	// Distance is the result of Levenshtein.
	Distance int `json:"distance"`
	// Common is the length of a longest common subsequence: the most elements that occur in both in the same order,
	// neighbours or not (R. A. Wagner and M. J. Fischer, The String-to-String Correction Problem, Journal of the ACM
	// 21, 1974).
	Common int `json:"common"`
	// Score is the score of the best global alignment: 1 for each pair of equal elements, −1 for each pair of different
	// ones and for each element without a partner (S. B. Needleman and C. D. Wunsch, A General Method Applicable to the
	// Search for Similarities in the Amino Acid Sequence of Two Proteins, Journal of Molecular Biology 48, 1970, with a
	// penalty in proportion to the length of a gap).
	Score int `json:"score"`
	// Levenshtein, Positional, Precision, Recall and the three matches are the results of the functions with these
	// names.
	Levenshtein float64 `json:"levenshtein"`
	// LCS is Common divided by the longer length.
	LCS float64 `json:"lcs"`
	// LCSDice is 2·Common divided by the sum of the lengths (L. R. Dice, Measures of the Amount of Ecologic Association
	// Between Species, Ecology 26, 1945).
	LCSDice float64 `json:"lcs_dice"`
	// NeedlemanWunsch is Score divided by the longer length, which is the score of a sequence with itself; 0 for a
	// negative score.
	NeedlemanWunsch float64 `json:"needleman_wunsch"`
	Positional      float64 `json:"positional"`
	Precision       float64 `json:"precision"`
	Recall          float64 `json:"recall"`
	Exact           bool    `json:"exact"`
	InOrder         bool    `json:"in_order"`
	AnyOrder        bool    `json:"any_order"`
}

// ScoreSequences computes all measures. It returns ErrSequencesTooLong when that would take more than a second.
func ScoreSequences[T comparable](original, replay []T) (SequenceScores, error) {
	if tooLong(original, replay) {
		return SequenceScores{}, ErrSequencesTooLong
	}
	a, b := numbered(original, replay)
	s := SequenceScores{
		Distance: -scoringOf(edits).of(a, b), Common: scoringOf(common).of(a, b), Score: scoringOf(needleman).of(a, b),
		Positional: PositionalMatch(a, b), Precision: SequencePrecision(a, b), Recall: SequenceRecall(a, b),
		Exact: ExactMatch(a, b), InOrder: InOrderMatch(a, b), AnyOrder: AnyOrderMatch(a, b),
	}
	longer := max(len(a), len(b))
	s.Levenshtein = share(longer-s.Distance, longer)
	s.LCS = share(s.Common, longer)
	s.LCSDice = share(2*s.Common, len(a)+len(b))
	s.NeedlemanWunsch = share(max(s.Score, 0), longer)
	return s, nil
}

func tooLong[T any](original, replay []T) bool {
	return len(replay) > 0 && len(original) > MaxSequenceCells/len(replay)
}

// LevenshteinSimilarity returns 1 − Levenshtein / the longer length: the share of the longer sequence that needs no
// edit. It is the default measure of "state progression match".
func LevenshteinSimilarity[T comparable](original, replay []T) float64 {
	longer := max(len(original), len(replay))
	return share(longer-Levenshtein(original, replay), longer)
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

// The matches below take the original as what was wanted and the replay as what was done, like graders of tool calls.
// An element counts as often as it occurs.

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

// SequencePrecision returns the share of the replay's elements that the original has, too. It is 0 when only the replay
// is empty.
//
// Source: C. J. van Rijsbergen, Information Retrieval (1979), chapter 7, over multisets.
func SequencePrecision[T comparable](original, replay []T) float64 {
	return shareOf(shared(original, replay), len(replay), len(original))
}

// SequenceRecall returns the share of the original's elements that the replay has, too. It is 0 when only the original
// is empty, and 1 when the replay has all of them, in any order and among others.
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
