package grader

import (
	"context"

	"rehearse/internal/runner"
	"rehearse/internal/source"
)

// maxCompared bounds the characters of each text that are compared in quadratic time: about a second at most.
const maxCompared = 20_000

func newLevenshtein(a *Args) runner.Grader {
	return likeness(a, a.reference(), "Levenshtein similarity", 0.8, func(_ context.Context, text, reference string) (float64, error) {
		return levenshtein([]rune(text), []rune(reference)), nil
	})
}

// levenshtein returns 1 − distance/length of the longer text; two empty texts score 1.
// Characters more than maxCompared past the common beginning count as different, so a huge text never scores too high.
func levenshtein(a, b []rune) float64 {
	longest := max(len(a), len(b))
	if longest == 0 {
		return 1
	}
	a, b = differing(a, b)
	distance := source.EditDistance(string(clip(a)), string(clip(b)))
	distance += max(len(a)-len(clip(a)), len(b)-len(clip(b)))
	return 1 - float64(distance)/float64(longest)
}

// differing removes the common beginning and the common end of two sequences. No alignment depends on them.
func differing[T comparable](a, b []T) (restA, restB []T) {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return a, b
}

func clip[T any](s []T) []T { return s[:min(len(s), maxCompared)] }
