package grader

import (
	"context"
	"math"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/eval/runner"
)

func newBleu(a *Args) runner.Grader {
	reference := a.reference()
	n := a.IntOr("n", maxGram, 1, "the longest run of words that is compared, 1 to 4")
	if n > maxGram {
		a.Report("n", "use a number from 1 to 4", "n %d is too great", n)
		n = maxGram
	}
	return likeness(a, reference, "BLEU", 0.3, func(_ context.Context, text, reference string) (float64, error) {
		return byWords(text, reference, func(t, r []string) float64 { return bleu(t, r, n) }), nil
	})
}

// bleu returns the BLEU of one sentence (K. Papineni et al., "BLEU: a Method for Automatic Evaluation of Machine
// Translation", 2002): the geometric mean of the precisions of runs of 1 to n words, times a penalty for texts shorter
// than the reference. Runs longer than the text are left out. Lengths at which the texts share nothing are smoothed as
// sacreBLEU does by default: the first counts as half a run, the second as a quarter and so on (B. Chen and C. Cherry,
// "A Systematic Comparison of Smoothing Techniques for Sentence-Level BLEU", 2014, method 3).
func bleu(text, reference []string, n int) float64 {
	if slices.Equal(text, reference) {
		return 1
	}
	t, r := numbered(text, reference)
	if overlap(t, r, 1) == 0 {
		return 0
	}
	n = min(n, len(t))
	logs, smoothed := 0.0, 1.0
	for k := 1; k <= n; k++ {
		shared := float64(overlap(t, r, k))
		if shared == 0 {
			smoothed /= 2
			shared = smoothed
		}
		logs += math.Log(shared / float64(grams(len(t), k)))
	}
	penalty := math.Min(1, math.Exp(1-float64(len(r))/float64(len(t))))
	return penalty * math.Exp(logs/float64(n))
}
