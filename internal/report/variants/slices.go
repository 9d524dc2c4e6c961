package variants

import (
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/replay"
)

// sliceKind are the slices of one kind. They add up to the sessions that were compared.
type sliceKind struct {
	Name, Meaning string
	Metrics       []string
	Rows          []sliceRow
	Sum           int
}

// sliceRow is one slice, with a cell for each metric of the kind.
type sliceRow struct {
	Value    string
	Sessions int
	Cells    []sliceCell
}

// sliceCell is the difference of a metric in a slice; Absent where no session of it has both sides.
type sliceCell struct {
	Metric, Difference, Interval string
	// Told is whether the difference is told apart from chance among all slices, Good in which direction.
	Told, Good, Absent bool
	Plot               *forestPlot
}

// significant is the level of a difference among all slices.
const significant = 0.05

// slicesOf groups the slices of the report by their kind, in its order.
func slicesOf(r *replay.Report) (kinds []sliceKind) {
	var metrics []*replay.MetricReport
	for i := range r.Metrics {
		if m := &r.Metrics[i]; m.Gated {
			metrics = append(metrics, m)
		}
	}
	scales := sliceScales(r, metrics)
	for i := range r.Slices {
		s := &r.Slices[i]
		if len(kinds) == 0 || r.Slices[i-1].By != s.By {
			kind := sliceKind{Name: text.Capital(text.OneLine(s.By, 30)), Meaning: sliceMeaning(s.By)}
			for _, m := range metrics {
				kind.Metrics = append(kind.Metrics, wordsOf(m.Name, r.Run.Mode).name)
			}
			kinds = append(kinds, kind)
		}
		kind := &kinds[len(kinds)-1]
		row := sliceRow{Value: text.OneLine(s.Value, 80), Sessions: s.Sessions}
		for _, m := range metrics {
			row.Cells = append(row.Cells, sliceCellOf(s, m, scales[m.Name], r.Run.Mode))
		}
		kind.Rows, kind.Sum = append(kind.Rows, row), kind.Sum+s.Sessions
	}
	return kinds
}

func sliceMeaning(by string) string {
	switch by {
	case "flow":
		return "by the flow of the log"
	case "length":
		return "by the number of user messages in the log"
	case "unit":
		return "by user (unit), those with 10 sessions or more"
	case "day":
		return "by the day on which the session began (UTC)"
	}
	return ""
}

// sliceScales gives each metric one scale over all slices, so that their drawings can be compared.
func sliceScales(r *replay.Report, metrics []*replay.MetricReport) map[string]scale {
	scales := map[string]scale{}
	for _, m := range metrics {
		s := scale{sign: 1}
		if m.LowerIsBetter {
			s.sign = -1
		}
		for i := range r.Slices {
			if d, has := r.Slices[i].Metrics[m.Name]; has && finite(d.Mean) {
				s.reach = max(s.reach, farthest(asDifference(d)))
			}
		}
		if s.reach == 0 {
			s.reach = 1
		}
		scales[m.Name] = s
	}
	return scales
}

func asDifference(d replay.SliceDifference) *replay.DifferenceReport {
	return &replay.DifferenceReport{Mean: d.Mean, Low: d.Low, High: d.High}
}

func sliceCellOf(s *replay.Slice, m *replay.MetricReport, by scale, mode replay.Mode) sliceCell {
	c := sliceCell{Metric: wordsOf(m.Name, mode).name}
	d, has := s.Metrics[m.Name]
	if !has || !finite(d.Mean) {
		c.Absent, c.Difference = true, notApplicable
		return c
	}
	c.Difference, c.Interval = change(d.Mean, m.Unit), interval(d.Low, d.High, m.Unit)
	c.Told, c.Good = d.AdjustedP < significant, d.Mean*by.sign > 0
	c.Plot = &forestPlot{Whole: by.view(asDifference(d))}
	return c
}

// sliceMeans explains the slices.
const sliceMeans = "A slice decides nothing. Slices of fewer than 10 sessions, and those beyond the 20 largest of a kind, are together in other, " +
	"so that each kind adds up to the sessions that were compared. A difference in bold is told apart from chance among all slices of all kinds (Holm, p < 0.05)."
