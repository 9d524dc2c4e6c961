package stats

import "slices"

// Gap is the index of a missing partner in an Aligned.
const Gap = -1

// Aligned is one step of an alignment: the indexes of a pair, equal or not, or one index and a Gap.
type Aligned struct {
	Original int `json:"original"`
	Replay   int `json:"replay"`
}

// The steps of a path, two bits for each cell of the table.
const (
	stepPair = iota
	stepOriginal
	stepReplay
)

// Align returns a best global alignment in Needleman's and Wunsch's scoring (see SequenceScores.Score), step by step
// from the beginning. It has every element of both sequences once and in order.
//
// Of several best alignments it always returns the same one. At each step, it prefers a pair, then an element of the
// original alone, then one of the replay. So it pairs equal elements as early as possible and puts superfluous elements
// after them. The numbers of edits and of common elements may belong to another alignment.
//
// It keeps two bits for each cell, 25 MB at most. Above MaxSequenceCells it returns ErrSequencesTooLong.
//
// Source: S. B. Needleman and C. D. Wunsch (1970), filled from the end so that the path is read from the beginning.
func Align[T comparable](original, replay []T) ([]Aligned, error) {
	if tooLong(original, replay) {
		return nil, ErrSequencesTooLong
	}
	a, b := numbered(original, replay)
	steps := scoringOf(needleman).steps(a, b)
	path := make([]Aligned, 0, max(len(a), len(b)))
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		cell := i*len(b) + j
		switch steps[cell/4] >> (cell % 4 * 2) & 3 {
		case stepPair:
			path = append(path, Aligned{i, j})
			i, j = i+1, j+1
		case stepOriginal:
			path = append(path, Aligned{i, Gap})
			i++
		case stepReplay:
			path = append(path, Aligned{Gap, j})
			j++
		}
	}
	for ; i < len(a); i++ {
		path = append(path, Aligned{i, Gap})
	}
	for ; j < len(b); j++ {
		path = append(path, Aligned{Gap, j})
	}
	return path, nil
}

// steps returns the first step of a best alignment of a[i:] and b[j:] for every i and j, at i·len(b)+j, four steps to a
// byte.
func (s scoring) steps(a, b []int32) []byte {
	steps := make([]byte, (len(a)*len(b)+3)/4)
	row := make([]int32, len(b)+1) // row[j]: the best for a[i+1:] and b[j:], then for a[i:] and b[j:]
	for j := range row {
		row[j] = int32(len(b)-j) * s.gap
	}
	for i, x := range slices.Backward(a) {
		diagonal := row[len(b)]
		row[len(b)] += s.gap
		for j := len(b) - 1; j >= 0; j-- {
			best, step := diagonal+s.mismatch, byte(stepPair)
			if x == b[j] {
				best = diagonal + s.match
			}
			diagonal = row[j]
			if alone := diagonal + s.gap; alone > best {
				best, step = alone, stepOriginal
			}
			if alone := row[j+1] + s.gap; alone > best {
				best, step = alone, stepReplay
			}
			row[j] = best
			cell := i*len(b) + j
			steps[cell/4] |= step << (cell % 4 * 2)
		}
	}
	return steps
}
