package replay

import (
	"fmt"

	"rehearse/internal/stats"
)

// The gates.
const (
	// GateSpec is S4's: means are compared as they are, 70 % of the metrics have to be good enough, and completion match has to reach 80 %.
	GateSpec = "spec"
	// GatePaired looks at each session in both lanes and at how much chance there is in it.
	GatePaired = "paired"
)

// Gates lists the gates.
var Gates = []string{GatePaired, GateSpec}

// Requirement is the least that a candidate needs to pass the paired gate.
type Requirement string

// The requirements.
const (
	NotWorse    Requirement = "not_worse"    // nothing is known to be worse
	NonInferior Requirement = "non_inferior" // it is known of every metric that what is lost is within its margin
	Better      Requirement = "better"       // non_inferior, and something is better
)

// Requirements lists the requirements.
var Requirements = []Requirement{NotWorse, NonInferior, Better}

// combine returns the verdict on several metrics: worse when any is, else open when any is, else better when any is.
func combine(verdicts []stats.Verdict) stats.Verdict {
	if len(verdicts) == 0 {
		return stats.Inconclusive
	}
	seen := map[stats.Verdict]bool{}
	for _, v := range verdicts {
		seen[v] = true
	}
	for _, v := range []stats.Verdict{stats.Worse, stats.Inconclusive, stats.Better} {
		if seen[v] {
			return v
		}
	}
	return stats.NonInferior
}

// met reports whether verdicts meet the requirement.
func (r Requirement) met(verdicts []stats.Verdict) bool {
	all := combine(verdicts)
	switch r {
	case Better:
		return all == stats.Better
	case NonInferior:
		return all == stats.Better || all == stats.NonInferior
	}
	return all != stats.Worse
}

// fewResamples are enough for the intervals of metrics that decide nothing; all of them with as many as the others have would take seconds.
const fewResamples = 1_000

// compareLanes adds the differences between the lanes to the report of each metric, and returns the verdicts of the gated ones, with
// notes on those that are left open.
func (t *Tally) compareLanes(metrics []MetricReport, baseline, candidate *laneTally) (verdicts []stats.Verdict, notes []Note) {
	var gated []stats.Difference
	var at []int
	for i := range table {
		m := &table[i]
		pairs := t.pairs(m, baseline.whole[i], candidate.whole[i])
		criterion := stats.Criterion{LowerIsBetter: m.lowerIsBetter, PassFail: m.passFail, Margin: m.margin, Seed: Seed}
		if !m.gated {
			criterion.Resamples = fewResamples
		}
		d := pairs.Compare(criterion)
		switch {
		case d.N == 0:
		case m.gated:
			gated, at = append(gated, d), append(at, i)
		default:
			metrics[i].Difference = differenceReport(d, m)
		}
		if m.onSupport != nil {
			metrics[i].DifferenceOnSupport = t.differenceOnSupport(m, baseline.onSupport[i], candidate.onSupport[i])
		}
	}
	stats.DecideTogether(gated)
	for i := range gated {
		m, d := &table[at[i]], &gated[i]
		verdicts = append(verdicts, d.Verdict)
		metrics[at[i]].Difference = differenceReport(*d, m)
		if d.Verdict == stats.Inconclusive {
			if note, ok := sampleNote(m, d); ok {
				notes = append(notes, note)
			}
		}
	}
	return verdicts, notes
}

// differenceOnSupport compares the lanes on the turns that they have in common; nil where there are none.
func (t *Tally) differenceOnSupport(m *metric, baseline, candidate []float64) *DifferenceReport {
	d := t.pairs(m, baseline, candidate).Compare(stats.Criterion{LowerIsBetter: m.lowerIsBetter, PassFail: m.passFail, Seed: Seed, Resamples: fewResamples})
	if d.N == 0 {
		return nil
	}
	plain := *m
	plain.gated = false
	return differenceReport(d, &plain)
}

// differenceReport says a difference. Metrics that are not gated have no verdict: among so many of them some would seem to differ by chance.
func differenceReport(d stats.Difference, m *metric) *DifferenceReport {
	r := &DifferenceReport{
		Mean: d.Mean, Low: finite(d.Interval[0]), High: finite(d.Interval[1]), N: d.N, Changed: d.Changed, P: d.AdjustedP,
		Detectable: finite(d.Detectable), Method: d.Method,
	}
	if m.gated {
		r.Verdict, r.Margin = string(d.Verdict), m.marginText
		r.MarginSize = new(m.margin.Absolute + m.margin.Relative*d.Baseline)
	}
	return r
}

// sampleNote is the note on a metric that was left open: how many sessions would have shown a difference beyond the margin.
func sampleNote(m *metric, d *stats.Difference) (note Note, ok bool) {
	matters := m.margin.Absolute + m.margin.Relative*d.Baseline
	if matters == 0 {
		matters = 0.05
	}
	n := d.UnitsFor(matters)
	if n <= d.Clusters {
		return Note{}, false
	}
	size := fmt.Sprintf("%.3g", matters)
	switch m.unit {
	case Share:
		size = fmt.Sprintf("%.3g points", 100*matters)
	case Milliseconds:
		size += " ms"
	}
	return Note{Text: fmt.Sprintf("%s is left open: about %d sessions would show a difference of %s", m.name, n, size), Count: n}, true
}
