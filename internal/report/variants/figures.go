package variants

import (
	"math"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/report/page"
)

// figuresView is a table of metrics.
type figuresView struct {
	Compared bool
	// Means says when a turn is supported.
	Means string
	Rows  []figureRow
	// Wide names the metrics that a lane has otherwise on supported turns.
	Wide string
}

// moreView are the metrics that decide nothing, and what else there is to say of figures.
type moreView struct {
	figuresView
	Said []string
}

// figureRow is a metric with its figures.
type figureRow struct {
	Name, Meaning string
	Figures       []figure
}

// figure is a mean or a difference with its interval. One on supported turns is often Absent, and Wide where it lies outside the interval
// of the one over whole sessions: then part of that one comes from messages that answer another question.
type figure struct {
	Label, Value, Interval string
	Sessions               string // over how many a difference is, where not over all
	// Bar draws a share with its interval, where no differences are drawn.
	Bar                     *page.Bar
	Supported, Absent, Wide bool
}

// figuresOf lines up figures over whole sessions and on supported turns, of the metrics that have both. Without a baseline, when no
// differences are drawn, it has every metric that comes first. It is nil where there are none.
func figuresOf(r *replay.Report, groups metricGroups) *figuresView {
	v := &figuresView{Compared: r.Baseline != nil, Means: supportedMeans(r.Run.Mode)}
	var wide []string
	for _, m := range slices.Concat(groups.first, groups.more) {
		if (v.Compared || slices.Contains(groups.more, m)) && m.CandidateOnSupport == nil && m.BaselineOnSupport == nil {
			continue
		}
		words := wordsOf(m.Name, r.Run.Mode)
		row := figureRow{words.name, words.meaning, wholeFigures(r, m)}
		supported := supportedFigures(r, m)
		if slices.ContainsFunc(supported, func(f figure) bool { return f.Wide }) {
			wide = append(wide, metricLabel(m.Name, r.Run.Mode))
		}
		row.Figures = append(row.Figures, supported...)
		v.Rows = append(v.Rows, row)
	}
	if len(v.Rows) == 0 {
		return nil
	}
	v.Wide = listed(wide)
	return v
}

// moreOf are the metrics that decide nothing, with what else there is to say; nil where there is nothing.
func moreOf(r *replay.Report, groups metricGroups) *moreView {
	v := &moreView{figuresView: figuresView{Compared: r.Baseline != nil}}
	for _, m := range groups.more {
		v.Rows = append(v.Rows, figureRow{wordsOf(m.Name, r.Run.Mode).name, meaningOf(m, r.Run.Mode), wholeFigures(r, m)})
	}
	if still := stillWords(groups.still, r.Run.Mode); still != "" {
		v.Said = append(v.Said, still)
	}
	v.Said = append(v.Said, timeWords(r)...)
	if len(v.Rows) == 0 && len(v.Said) == 0 {
		return nil
	}
	return v
}

func wholeFigures(r *replay.Report, m *replay.MetricReport) []figure {
	candidate := figureOf("Candidate", m.Candidate, m.Unit)
	if r.Baseline == nil {
		if e := m.Candidate; m.Unit == replay.Share && e != nil && e.Low != nil && e.High != nil && finite(e.Value) && finite(*e.Low) && finite(*e.High) {
			candidate.Bar = new(page.BarOf(e.Value, [2]float64{*e.Low, *e.High}))
		}
		return []figure{candidate}
	}
	return []figure{figureOf("Baseline", m.Baseline, m.Unit), candidate, differenceFigure("Difference", m.Difference, m.Unit)}
}

func supportedFigures(r *replay.Report, m *replay.MetricReport) []figure {
	const label = "supported" // of which lane says the column
	candidate := figureOf(label, m.CandidateOnSupport, m.Unit)
	candidate.Wide = outside(m.CandidateOnSupport, m.Candidate, m.Unit)
	figures := []figure{candidate}
	if r.Baseline != nil {
		baseline := figureOf(label, m.BaselineOnSupport, m.Unit)
		baseline.Wide = outside(m.BaselineOnSupport, m.Baseline, m.Unit)
		difference := differenceFigure(label, m.DifferenceOnSupport, m.Unit)
		if !difference.Absent {
			difference.Sessions = text.Plural(m.DifferenceOnSupport.N, "session")
		}
		figures = []figure{baseline, candidate, difference}
	}
	for i := range figures {
		figures[i].Supported = true
	}
	return figures
}

func figureOf(label string, e *replay.Estimate, unit replay.Unit) figure {
	f := figure{Label: label, Value: estimate(e, unit), Absent: e == nil}
	if e != nil && (e.Low != nil || e.High != nil) {
		f.Interval = estimateInterval(e, unit)
	}
	return f
}

func differenceFigure(label string, d *replay.DifferenceReport, unit replay.Unit) figure {
	if d == nil {
		return figure{Label: label, Value: notApplicable, Absent: true}
	}
	return figure{Label: label, Value: change(d.Mean, unit), Interval: intervalOf(d, unit)}
}

// unnoticed is a latency in milliseconds that the engine counts as none.
const unnoticed = 10

// outside reports whether a figure lies outside the interval of another, by more than nobody notices.
func outside(supported, whole *replay.Estimate, unit replay.Unit) bool {
	if supported == nil || whole == nil {
		return false
	}
	v := supported.Value
	if unit == replay.Milliseconds && math.Abs(v-whole.Value) < unnoticed {
		return false
	}
	return whole.Low != nil && v < *whole.Low || whole.High != nil && v > *whole.High
}
