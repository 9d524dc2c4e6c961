package replay

import (
	"fmt"
	"math"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/stats"
)

// fewResamples are enough for the intervals of metrics that decide nothing; all of them with as many as the others have
// would take seconds.
const fewResamples = 1_000

// criterion is how a metric is compared.
func (m *metric) criterion(power float64) stats.Criterion {
	c := stats.Criterion{
		LowerIsBetter: m.lowerIsBetter, PassFail: m.passFail, Margin: m.margin, Harmless: m.harmless, Range: m.span(),
		Power: power, Seed: Seed,
	}
	if m.role == shown {
		c.Resamples = fewResamples
	}
	return c
}

// compareVariants adds the differences between the lanes to the report of each metric, and returns what the gate
// decides by.
func (t *Tally) compareVariants(reports []MetricReport, metrics []metric, rules *Rules, in part) *findings {
	baseline, candidate := t.lanes[Baseline], t.lanes[Candidate]
	f := &findings{lost: t.lostPairs(), compared: len(t.sessions), concealed: t.concealed(metrics, rules.MaxLost)}
	f.rescued = len(in.rescued)
	f.censored, f.open = t.openEnds(in.sessions)
	f.heard = map[string]hearing{Baseline: baseline.heard, Candidate: candidate.heard}
	f.completable, f.losable = t.completions()
	var at []int
	together := t.compareTogether(metrics, rules, in)
	for i := range metrics {
		m := &metrics[i]
		if m.apart {
			continue
		}
		if m.onSupport != nil {
			reports[i].DifferenceOnSupport = t.plainDifference(m, rules, baseline.onSupport[i],
				candidate.onSupport[i], in)
		}
		d, ok := together[i]
		if !ok {
			pairs := t.pairs(m, rules.Cluster, baseline.whole[i], candidate.whole[i], in)
			d = pairs.Compare(m.criterion(rules.MinPower))
		}
		if m.path && m.role != shown && (len(in.rescued) > 0 || f.censored[Baseline]+f.censored[Candidate] > 0) {
			reports[i].DifferenceOfAll = t.plainDifference(m, rules, baseline.whole[i], candidate.whole[i],
				part{sessions: in.sessions, entire: true})
		}
		if d.N == 0 {
			continue
		}
		if m.unit == Share && !math.IsInf(d.Detectable, 1) {
			d.Detectable = min(d.Detectable, 1) // nobody can lose more
		}
		c := compared{m, d, max(m.margin.Absolute+m.margin.Relative*d.Baseline, m.harmless)}
		reports[i].Difference = c.report()
		switch m.role {
		case decides:
			f.metrics, at = append(f.metrics, c), append(at, i)
		case guards:
			f.guards = append(f.guards, c)
		}
		if m.name == CompletionMatch {
			reports[i].Difference.WorstCase = t.worstCase(d)
		}
	}
	f.together = decide(f.metrics)
	for i := range f.metrics {
		reports[at[i]].Difference.AdjustedP = f.metrics[i].AdjustedP
	}
	return f
}

// compareTogether returns the differences of the metrics that decide or guard, by their place. They share their
// resamples. The many others are compared one after the other, so that their pairs need no memory at the same time.
func (t *Tally) compareTogether(metrics []metric, rules *Rules, in part) map[int]stats.Difference {
	var all []stats.Metric
	var at []int
	for i := range metrics {
		if m := &metrics[i]; m.role != shown {
			pairs := t.pairs(m, rules.Cluster, t.lanes[Baseline].whole[i], t.lanes[Candidate].whole[i], in)
			all, at = append(all, stats.Metric{Pairs: pairs, Criterion: m.criterion(rules.MinPower)}), append(at, i)
		}
	}
	differences := map[int]stats.Difference{}
	for k, d := range stats.CompareAll(all) {
		differences[at[k]] = d
	}
	return differences
}

// decide returns the verdict over the metrics that decide, and corrects their p-values.
func decide(metrics []compared) stats.Verdict {
	differences := make([]stats.Difference, len(metrics))
	for i := range metrics {
		differences[i] = metrics[i].Difference
	}
	verdict := stats.Decide(differences)
	for i := range metrics {
		metrics[i].Difference = differences[i]
	}
	return verdict
}

// completions are the shares of sessions that the log completes, and of those that the baseline completes with it.
func (t *Tally) completions() (logged, both float64) {
	of, n := t.figures(Baseline), 0
	for i := range t.sessions {
		if share := of(CompletedShare, i); t.sessions[i].outcome != EndUnknown && !math.IsNaN(share) {
			if n++; t.sessions[i].outcome == EndCompleted {
				logged++
				both += share
			}
		}
	}
	return logged / float64(max(n, 1)), both / float64(max(n, 1))
}

// lostPairs are the lost pairs with their share of all.
func (t *Tally) lostPairs() Lost {
	l := t.losses
	if all := len(t.lost) + len(t.sessions); all > 0 {
		l.Share = float64(len(t.lost)) / float64(all)
	}
	return l
}

// worstCase is the difference of completion match if the baseline had won each lost pair, and the candidate had lost
// it. Pairs whose sessions ended in an unknown way do not count.
func (t *Tally) worstCase(d stats.Difference) *float64 {
	lost := 0
	for i := range t.lost {
		if t.lost[i].outcome != EndUnknown {
			lost++
		}
	}
	return new((float64(d.N)*d.Mean - float64(lost)) / float64(d.N+lost))
}

// plainDifference compares two columns by a metric that decides nothing; nil where no session has both.
func (t *Tally) plainDifference(m *metric, rules *Rules, baseline, candidate []float64, in part) *DifferenceReport {
	plain := *m
	plain.role, plain.everyPair = shown, false
	d := t.pairs(&plain, rules.Cluster, baseline, candidate, in).Compare(plain.criterion(rules.MinPower))
	if d.N == 0 {
		return nil
	}
	c := compared{&plain, d, 0}
	return c.report()
}

// report says a difference. Metrics that decide nothing have no verdict: among so many of them some would seem to
// differ by chance.
func (c *compared) report() *DifferenceReport {
	d := &c.Difference
	r := &DifferenceReport{
		Mean: d.Mean, Low: finite(d.Interval[0]), High: finite(d.Interval[1]), N: d.N, Changed: d.Changed,
		Varies: d.Varies, P: d.P, AdjustedP: d.P, Detectable: finite(d.Detectable), Method: d.Method,
		Clusters: d.Clusters, ICC: d.ICC, DesignEffect: d.DesignEffect,
	}
	if c.role != shown {
		r.Verdict, r.Margin, r.MarginSize = string(d.Verdict), c.marginWords(), &c.marginSize
	}
	return r
}

// supportOf is the mean support coverage of each lane, nil where it is not known.
func (t *Tally) supportOf() map[string]*float64 {
	support := map[string]*float64{}
	for _, lane := range []string{Baseline, Candidate} {
		if l := t.lanes[lane]; l != nil {
			support[lane] = meanOf(l.whole[columnOf(SupportCoverage)])
		}
	}
	return support
}

// specGate is S4's gate as the one that decides. Facts follow what it comes to.
func specGate(c *Comparison, paired Gate, facts []string) Gate {
	g := paired
	g.Name, g.Outcome, g.Reasons = GateSpec, Passed, []Reason{}
	held := 0
	for _, good := range c.Tests {
		if good {
			held++
		}
	}
	said := fmt.Sprintf("%d of %d rules hold (70 %% are needed)", held, len(c.Tests))
	begin := "Passed: "
	if !c.Hard {
		said += ", completion match does not reach 80 %"
	}
	if !c.Passed || !c.Hard {
		g.Outcome, begin = NotPassed, "Not passed: "
		g.Reasons = []Reason{{Code: "spec", Text: said}}
	}
	g.Headline, g.ExitCode = begin+strings.Join(append([]string{said}, facts...), "; "), g.Outcome.ExitCode()
	return g
}
