package stats

// Verdict is the result of comparing a candidate.
type Verdict string

// The verdicts. Each follows from the 95 % interval of the metric alone, and never contradicts it. Inconclusive does
// not mean "equal": there were too few units for their variation, and Difference.Detectable says what could have been
// found.
const (
	// Better: the interval of the gain lies above 0.
	Better Verdict = "better"
	// NonInferior: it lies at or above −margin. It may be known that there is a loss.
	NonInferior Verdict = "non_inferior"
	// Worse: it lies below 0, and not within the margin, and its mean is no smaller a loss than Criterion.Harmless.
	Worse Verdict = "worse"
	// Inconclusive: none of these is known.
	Inconclusive Verdict = "inconclusive"
	// NotJudgeable: the observations do not fit what they are compared for. No Difference has it.
	NotJudgeable Verdict = "not_judgeable"
)

// Text returns the verdict as people read it.
func (v Verdict) Text() string {
	switch v {
	case NonInferior:
		return "non-inferior"
	case NotJudgeable:
		return "not judgeable"
	}
	return string(v)
}

// Criterion is how a metric is compared.
type Criterion struct {
	// LowerIsBetter is for latencies, turns and cost. Otherwise, a higher score is better.
	LowerIsBetter bool
	// PassFail is for scores that are 1 or 0. McNemar's exact test compares them when every cluster has one pair or
	// none has a pair that differs, and the margin is not relative.
	PassFail bool
	// Margin is the loss that does not matter.
	Margin Margin
	// Harmless is a mean loss, in units of the metric, that is never Worse when it is smaller, however certain it is. 0
	// is none.
	Harmless float64
	// Range is the distance between the ends of the metric's scale: 1 for shares; 0 for a metric without ends.
	Range float64
	// Power is the probability with which Difference.Detectable would have been found; 0 means the constant Power.
	Power float64
	// Seed is the seed of the bootstrap. Resamples is how often it draws, at least 200 times; 0 means the constant
	// Resamples.
	Seed      uint64
	Resamples int
}

// Margin is the loss that does not matter: Absolute, in units of the metric, plus Relative times the baseline's mean.
// The zero value means "at least the baseline's". {Relative: 0.1} means "at most the baseline's × 1.1" for a metric
// where lower is better. A relative margin is for metrics that are not negative; the uncertainty of the baseline's mean
// is taken into account. A negative part counts as 0.
//
// Source: G. Piaggio et al., Reporting of Noninferiority and Equivalence Randomized Trials, JAMA 308 (2012), figure 1,
// for what an interval says beside a margin; D. Hauschke et al., Sample Size Determination for Proving Equivalence
// Based on the Ratio of Two Means for Normally Distributed Data, Statistics in Medicine 18 (1999), for the linear form
// of a relative one.
type Margin struct {
	Absolute float64 `json:"absolute,omitempty"`
	Relative float64 `json:"relative,omitempty"`
}

// significance is the two-sided level of every verdict.
const significance = 1 - Confidence

// Decide returns the verdict over several metrics of the same candidate, one difference each, and sets their AdjustedP.
// It is Worse when any is: harm is not corrected for their number, since all must pass, and a correction would only
// hide losses. It is Better when all are Better or NonInferior and one is better with a corrected p-value below 5 %;
// NonInferior when all are; else Inconclusive. What does not vary leaves the correction, which is Holm's. Without
// metrics it is Inconclusive.
//
// Source: R. L. Berger, Multiparameter Hypothesis Testing and Acceptance Sampling, Technometrics 24 (1982), for the
// intersection–union test.
func Decide(metrics []Difference) Verdict {
	var varying []int
	var ps []float64
	for i := range metrics {
		metrics[i].AdjustedP = 1
		if metrics[i].Varies {
			varying, ps = append(varying, i), append(ps, metrics[i].P)
		}
	}
	for k, p := range Holm(ps) {
		metrics[varying[k]].AdjustedP = p
	}
	overall := NonInferior
	if len(metrics) == 0 {
		overall = Inconclusive
	}
	for i := range metrics {
		switch m := &metrics[i]; {
		case m.Verdict == Worse:
			return Worse
		case m.Verdict == Inconclusive:
			overall = Inconclusive
		case m.Verdict == Better && m.AdjustedP < significance && overall != Inconclusive:
			overall = Better
		}
	}
	return overall
}

// verdictOf returns the verdict of a gain with its mean. kept is the lower end of the gain plus the relative margin,
// which is held against −margin. A margin as wide as the range is met whatever the interval, unless a ratio is known to
// have lost more than its range.
func (c *Criterion) verdictOf(gain [2]float64, mean, kept float64) Verdict {
	switch {
	case gain[0] > 0:
		return Better
	case kept >= -c.Margin.Absolute, c.Harmless > 0 && gain[0] > -c.Harmless,
		c.Range > 0 && c.Margin.Absolute >= c.Range && gain[1] >= -c.Margin.Absolute:
		return NonInferior
	case gain[1] < 0 && mean <= -c.Harmless:
		return Worse
	}
	return Inconclusive
}
