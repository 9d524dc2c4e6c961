package stats

// Verdict is the result of comparing a candidate.
type Verdict string

// The verdicts. A candidate may go live with Better and NonInferior. Inconclusive does not mean "equal": there were too few units for
// their variation, and Difference.Detectable says what could have been found.
const (
	// Better: the candidate's gain is above 0.
	Better Verdict = "better"
	// NonInferior: any loss is within the margin. It may be known that there is a loss.
	NonInferior Verdict = "non_inferior"
	// Worse: the candidate loses, and the loss is not known to be within the margin.
	Worse Verdict = "worse"
	// Inconclusive: none of these is known.
	Inconclusive Verdict = "inconclusive"
)

// Criterion is how a metric is compared.
type Criterion struct {
	// LowerIsBetter is for latencies, turns and cost. Otherwise, a higher score is better.
	LowerIsBetter bool
	// PassFail is for scores that are 1 or 0. McNemar's exact test compares them when every cluster has one pair or none has a pair that
	// differs, and the margin is not relative.
	PassFail bool
	// Margin is the loss that does not matter.
	Margin Margin
	// Seed is the seed of the bootstrap. Resamples is how often it draws, at least 200 times; 0 means the constant Resamples.
	Seed      uint64
	Resamples int
}

// Margin is the loss that does not matter: Absolute, in units of the metric, plus Relative times the baseline's mean. The zero value means
// "at least the baseline's". {Relative: 0.1} means "at most the baseline's × 1.1" for a metric where lower is better. A relative margin
// is for metrics that are not negative; the uncertainty of the baseline's mean is taken into account. A negative part counts as 0.
//
// Source: G. Piaggio et al., Reporting of Noninferiority and Equivalence Randomized Trials, JAMA 308 (2012), figure 1, for what an
// interval says beside a margin; D. Hauschke et al., Sample Size Determination for Proving Equivalence Based on the Ratio of
// Two Means for Normally Distributed Data, Statistics in Medicine 18 (1999), for the linear form of a relative one.
type Margin struct{ Absolute, Relative float64 }

// significance is the two-sided level of every verdict. Half of it is the one-sided level of non-inferiority.
const significance = 1 - Confidence

// DecideTogether decides several differences, one for each metric, that are looked at together. Without it, among four metrics of the same
// candidate, one seems better or worse by chance in a fifth of all evaluations; with it, in a twentieth. It corrects the p-values of
// differences and those of non-inferiority separately by Holm's procedure, and Detectable by its first step. Intervals remain those of
// each metric alone.
func DecideTogether(metrics []Difference) {
	difference, inferior := make([]float64, len(metrics)), make([]float64, len(metrics))
	for i := range metrics {
		difference[i], inferior[i] = metrics[i].P, metrics[i].PInferior
	}
	difference, inferior = Holm(difference), Holm(inferior)
	for i := range metrics {
		m := &metrics[i]
		m.AdjustedP, m.AdjustedPInferior = difference[i], inferior[i]
		m.Verdict = m.verdict()
		m.Detectable = m.detectable(significance / float64(len(metrics)))
	}
}

func (d *Difference) verdict() Verdict {
	differs := d.AdjustedP <= significance
	switch {
	case differs && d.gain > 0:
		return Better
	case d.AdjustedPInferior <= significance/2:
		return NonInferior
	case differs:
		return Worse
	}
	return Inconclusive
}
