package variants

import "github.com/rehearse-dev/rehearse/internal/replay"

// Row is a metric as people read it, with its unit. What is not known is empty.
type Row struct{ Name, Meaning, Baseline, Candidate, Difference, Interval, Detectable string }

// RowOf puts the figures of a metric into words. baseline, candidate and d may be nil.
func RowOf(name string, mode replay.Mode, unit replay.Unit, baseline, candidate *replay.Estimate,
	d *replay.DifferenceReport) Row {
	words := wordsOf(name, mode)
	row := Row{Name: words.name, Meaning: words.meaning}
	if baseline != nil {
		row.Baseline = estimate(baseline, unit)
	}
	if candidate != nil {
		row.Candidate = estimate(candidate, unit)
	}
	if d != nil {
		row.Difference = change(d.Mean, unit)
		if d.Low != nil && d.High != nil {
			row.Interval = interval(d.Low, d.High, unit)
		}
		if d.Detectable != nil {
			row.Detectable = detectable(d, unit)
		}
	}
	return row
}
