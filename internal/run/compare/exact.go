package compare

import "github.com/rehearse-dev/rehearse/internal/base/stats"

// shownLevel is the one-sided level of the exact tests of all tests together.
const shownLevel = (1 - stats.Confidence) / 2

// shownToFall marks the tests whose trials pass less often than before by Fisher's exact test, corrected for their
// number.
func shownToFall(met []meeting) {
	var tested []int
	var ps []float64
	for i := range met {
		x := &met[i]
		if x.compared() && x.was.trials > 0 && x.now.trials > 0 && x.was.trials+x.now.trials > 2 {
			tested = append(tested, i)
			ps = append(ps, stats.FisherLess(x.now.passed, x.now.trials, x.was.passed, x.was.trials))
		}
	}
	for k, p := range stats.Holm(ps) {
		met[tested[k]].shown = p <= shownLevel
	}
}
