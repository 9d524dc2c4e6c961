package grader

import (
	"context"
	"fmt"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
)

// maxCompared bounds the characters of each text that are compared in quadratic time: about a second at most.
const maxCompared = 20_000

func newLevenshtein(a *Args) runner.Grader {
	reference := a.reference()
	most := a.IntOr("max_distance", -1, 0,
		"the greatest edit distance in characters, in place of threshold; the score is then 1 or 0")
	if most < 0 {
		return likeness(a, reference, "Levenshtein similarity", 0.8, func(_ context.Context,
			text, reference string) (float64, error) {
			return levenshtein([]rune(text), []rune(reference)), nil
		})
	}
	if a.node.Has("threshold") {
		a.Report("threshold", "keep max_distance", "levenshtein has a threshold and max_distance")
	}
	name := fmt.Sprintf("edit distance of at most %d: score", most)
	return likeness(a, reference, name, 1, func(_ context.Context, text, reference string) (float64, error) {
		if editDistance([]rune(text), []rune(reference)) <= most {
			return 1, nil
		}
		return 0, nil
	})
}

// levenshtein returns 1 − distance/length of the longer text; two empty texts score 1.
func levenshtein(a, b []rune) float64 {
	longest := max(len(a), len(b))
	if longest == 0 {
		return 1
	}
	return 1 - float64(editDistance(a, b))/float64(longest)
}

// editDistance returns the Levenshtein distance in characters. Characters more than maxCompared past the common
// beginning count as different, so a huge text never seems too close.
func editDistance(a, b []rune) int {
	a, b = differing(a, b)
	return source.EditDistance(string(clip(a)), string(clip(b))) + max(len(a)-len(clip(a)), len(b)-len(clip(b)))
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
