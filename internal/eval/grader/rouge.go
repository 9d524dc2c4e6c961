package grader

import (
	"context"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/eval/runner"
)

func newRouge(a *Args) runner.Grader {
	reference := a.reference()
	variant := a.OneOf("variant", "l counts the longest common subsequence of words, 1 single words, 2 pairs of words",
		"l", "1", "2")
	return likeness(a, reference, "ROUGE-"+strings.ToUpper(variant), 0.5, func(_ context.Context,
		text, reference string) (float64, error) {
		return byWords(text, reference, func(t, r []string) float64 { return rouge(t, r, variant) }), nil
	})
}

// rouge returns the F1 of a ROUGE variant (C.-Y. Lin, "ROUGE: A Package for Automatic Evaluation of Summaries", 2004; β
// = 1): the harmonic mean of the shares of the text's and of the reference's units that both have.
func rouge(text, reference []string, variant string) float64 {
	if slices.Equal(text, reference) {
		return 1
	}
	t, r := numbered(text, reference)
	n, common := 1, 0
	switch variant {
	case "l":
		common = commonSubsequence(t, r)
	case "1":
		common = overlap(t, r, 1)
	case "2":
		n, common = 2, overlap(t, r, 2)
	}
	if common == 0 {
		return 0
	}
	// With P = common/units of the text and R = common/units of the reference, 2PR/(P+R) is this.
	return 2 * float64(common) / float64(grams(len(t), n)+grams(len(r), n))
}

// commonSubsequence returns the length of the longest common subsequence.
// Between the common beginning and end, it looks at maxCompared words of each only.
func commonSubsequence(a, b []int32) int {
	whole := len(a)
	a, b = differing(a, b)
	shared := whole - len(a)
	a, b = clip(a), clip(b)
	row := make([]int, len(b)+1)
	for _, x := range a {
		diagonal := 0
		for j, y := range b {
			above := row[j+1]
			if x == y {
				row[j+1] = diagonal + 1
			} else {
				row[j+1] = max(above, row[j])
			}
			diagonal = above
		}
	}
	return shared + row[len(b)]
}
