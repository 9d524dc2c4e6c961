package stats

import "errors"

// The functions of sequences compare what was recorded with what a replay did: states of a flow, names of tools,
// anything comparable. The original comes first. Time is proportional to the product of the lengths, memory to the
// second length: 10,000 by 10,000 elements take a quarter of a second and 80 KB. For sequences from outside, bound the
// lengths or use ScoreSequences, which does. Two empty sequences are equal: every similarity is 1.

// MaxSequenceCells is the largest product of two lengths that ScoreSequences and Align take.
const MaxSequenceCells = 100_000_000

// ErrSequencesTooLong is returned when the product of the lengths is above MaxSequenceCells.
var ErrSequencesTooLong = errors.New("the sequences are too long to be aligned")

// scoring is the value of a pair of equal elements, of a pair of different ones, and of an element without a partner.
type scoring struct{ match, mismatch, gap int32 }

// One recurrence computes all three measures with different scorings: minus the number of edits; the number of pairs,
// where a mismatch is never better than two gaps; Needleman's and Wunsch's score.
const (
	edits = iota
	common
	needleman
)

func scoringOf(measure int) scoring {
	return [...]scoring{edits: {0, -1, -1}, common: {1, -1, 0}, needleman: {1, -1, -1}}[measure]
}

// Levenshtein returns the least number of insertions, deletions and substitutions that turn one sequence into the
// other.
//
// Source: V. I. Levenshtein, Binary Codes Capable of Correcting Deletions, Insertions, and Reversals, Soviet Physics
// Doklady 10 (1966).
func Levenshtein[T comparable](original, replay []T) int {
	return -scoringOf(edits).of(numbered(original, replay))
}

// of returns the score of the best alignment of a and b. It keeps one row of the table.
func (s scoring) of(a, b []int32) int {
	row := make([]int32, len(b)+1) // row[j]: the best for the elements of a so far and the first j of b
	for j := range row {
		row[j] = int32(j) * s.gap
	}
	for _, x := range a {
		diagonal, left := row[0], row[0]+s.gap
		row[0] = left
		above := row[1:]
		for j, y := range b {
			best := diagonal + s.mismatch
			if x == y {
				best = diagonal + s.match
			}
			diagonal = above[j]
			left = max(best, max(diagonal, left)+s.gap)
			above[j] = left
		}
	}
	return int(row[len(b)])
}

// numbered gives equal elements the same number, so that long texts compare as fast as short ones.
// NaN is not equal to itself and gets a new number each time.
func numbered[T comparable](original, replay []T) (a, b []int32) {
	number := make(map[T]int32, len(original))
	next := int32(0)
	rename := func(xs []T) []int32 {
		out := make([]int32, len(xs))
		for i, x := range xs {
			n, known := number[x]
			if !known {
				n = next
				number[x] = n
				next++
			}
			out[i] = n
		}
		return out
	}
	return rename(original), rename(replay)
}
