package report

import (
	"math"
	"regexp"
	"strconv"

	"rehearse/internal/replay"
	"rehearse/internal/result"
)

// forestRow is a metric's difference as words and as a drawing.
type forestRow struct {
	Name, Meaning string
	Sign          result.Verdict
	Verdict       string
	Difference    string
	Interval      string
	Changed       string
	Margin        string
	Detectable    string
	Gated         bool
	Plot          *forestPlot
}

// forestPlot is a difference in a drawing plotWidth wide with nothing in the middle. What speaks for the candidate is on the right.
type forestPlot struct {
	Low, High, At float64
	Known         bool // whether there is an interval
	// Endless is where an interval goes on beyond the drawing.
	EndlessLow, EndlessHigh bool
	// Support is the difference on supported turns, Margin where the loss that does not matter ends; nil when not known.
	Support, Margin *float64
}

const plotWidth = 200

// forestOf draws the differences of a comparison; without a baseline there are none.
func forestOf(r *replay.Report) (rows []forestRow) {
	if r.Baseline == nil {
		return nil
	}
	for i := range r.Metrics[:min(len(r.Metrics), maxMetrics)] {
		m := &r.Metrics[i]
		words := wordsOf(m.Name)
		row := forestRow{Name: words.name, Meaning: words.meaning, Gated: m.Gated, Sign: result.Skip, Difference: notApplicable}
		if m.LowerIsBetter {
			row.Meaning = joined(row.Meaning, "lower is better")
		}
		if d := m.Difference; d != nil {
			row.Sign, row.Verdict = replayVerdict(d.Verdict).sign(), verdictPhrase(d.Verdict)
			row.Difference, row.Interval = change(d.Mean, m.Unit), interval(d.Low, d.High, m.Unit)
			row.Changed = count(d.Changed) + " of " + many(d.N, "session")
			row.Margin, row.Detectable = oneLine(d.Margin, 60), detectable(d, m.Unit)
			row.Plot = plotOf(m)
		}
		rows = append(rows, row)
	}
	return rows
}

func joined(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}

// plotOf draws one difference. Every metric has a scale of its own, wide enough for all that is drawn.
func plotOf(m *replay.MetricReport) *forestPlot {
	d := m.Difference
	if !finite(d.Mean) {
		return nil
	}
	sign := 1.0
	if m.LowerIsBetter {
		sign = -1
	}
	low, high := d.Low, d.High
	if sign < 0 {
		low, high = high, low
	}
	reach := math.Abs(d.Mean)
	for _, bound := range []*float64{low, high} {
		if bound != nil && finite(*bound) {
			reach = max(reach, math.Abs(*bound))
		}
	}
	support, margin := supportDifference(m), marginOf(m)
	for _, v := range []*float64{support, margin} {
		if v != nil {
			reach = max(reach, math.Abs(*v))
		}
	}
	if reach == 0 {
		reach = 1
	}
	at := func(v float64) float64 { return round(plotWidth/2 + sign*v/reach*plotWidth*0.46) }
	p := &forestPlot{At: at(d.Mean), High: plotWidth, Known: low != nil || high != nil}
	if p.EndlessLow = low == nil || !finite(*low); !p.EndlessLow {
		p.Low = at(*low)
	}
	if p.EndlessHigh = high == nil || !finite(*high); !p.EndlessHigh {
		p.High = at(*high)
	}
	if support != nil {
		p.Support = new(at(*support))
	}
	if margin != nil {
		p.Margin = new(at(-sign * *margin))
	}
	return p
}

// supportDifference is candidate less baseline on supported turns, nil when one is not known.
func supportDifference(m *replay.MetricReport) *float64 {
	if m.CandidateOnSupport == nil || m.BaselineOnSupport == nil {
		return nil
	}
	if d := m.CandidateOnSupport.Value - m.BaselineOnSupport.Value; finite(d) {
		return &d
	}
	return nil
}

var relativeMargin = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?) ?% of the baseline`)

// marginOf is the loss that does not matter, as far as its words can be reckoned with; nil without one.
func marginOf(m *replay.MetricReport) *float64 {
	words := relativeMargin.FindStringSubmatch(m.Difference.Margin)
	if words == nil || m.Baseline == nil || !finite(m.Baseline.Value) {
		return nil
	}
	share, err := strconv.ParseFloat(words[1], 64)
	if err != nil || share <= 0 {
		return nil
	}
	return new(share / 100 * math.Abs(m.Baseline.Value))
}

// figureRow is a metric over whole sessions beside the same on supported turns.
type figureRow struct {
	Name, Meaning string
	Figures       []figure
	Gaps          []gap
}

// figure is a mean with its interval. One on supported turns is often Absent.
type figure struct {
	Label, Value, Interval string
	Absent                 bool
}

// gap is how far a lane's raw figure is from that on supported turns. It stands out when that one lies outside the raw one's interval.
type gap struct {
	Lane, Change string
	Wide         bool
}

// figuresOf lines up the figures of all metrics, and names those in which a lane has a wide gap.
func figuresOf(r *replay.Report) (rows []figureRow, wide []string) {
	for i := range r.Metrics[:min(len(r.Metrics), maxMetrics)] {
		m := &r.Metrics[i]
		words := wordsOf(m.Name)
		row := figureRow{Name: words.name, Meaning: words.meaning}
		lanes := []struct {
			name           string
			raw, supported *replay.Estimate
		}{{"Baseline", m.Baseline, m.BaselineOnSupport}, {"Candidate", m.Candidate, m.CandidateOnSupport}}
		if r.Baseline == nil {
			lanes = lanes[1:]
		}
		for _, l := range lanes {
			row.Figures = append(row.Figures, figureOf(l.name, l.raw, m.Unit))
		}
		found := false
		for _, l := range lanes {
			f := figureOf(l.name+", supported", l.supported, m.Unit)
			f.Absent = l.supported == nil
			row.Figures = append(row.Figures, f)
			if l.raw == nil || l.supported == nil {
				continue
			}
			g := gap{Lane: l.name, Change: change(l.raw.Value-l.supported.Value, m.Unit), Wide: outside(l.supported.Value, l.raw)}
			row.Gaps, found = append(row.Gaps, g), found || g.Wide
		}
		if found {
			wide = append(wide, metricLabel(m.Name))
		}
		rows = append(rows, row)
	}
	return rows, wide
}

func figureOf(label string, e *replay.Estimate, unit replay.Unit) figure {
	f := figure{Label: label, Value: estimate(e, unit)}
	if e != nil && (e.Low != nil || e.High != nil) {
		f.Interval = estimateInterval(e, unit)
	}
	return f
}

// outside reports whether a value lies outside an interval.
func outside(v float64, e *replay.Estimate) bool {
	return e.Low != nil && v < *e.Low || e.High != nil && v > *e.High
}
