package variants

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/replay"
)

// repeatsView says how much a lane varies when it plays a session again.
type repeatsView struct {
	K     int
	Means string
	// Rows are of the metrics that come first, More of the others; Still counts the rows in which nothing varies.
	Rows, More []varianceRow
	Still      int
	// Ks are the numbers of replays of the table of pass^k; LeftKs counts those between that are left out.
	Ks     []string
	LeftKs int
	Passes []passRow
}

// varianceRow splits the spread of a metric in a lane: as standard deviations, which have the metric's unit.
type varianceRow struct {
	Metric, Lane, Mean, Model, Session string
	// Share is how much of the variance is the model's, Width the same in percent of a drawing; Share says unknown where it is not.
	Share string
	Width float64
}

type passRow struct {
	Lane  string
	Cells []passCell
}

type passCell struct{ K, Value string }

// maxKs is how many numbers of replays the table of pass^k has.
const maxKs = 10

// repeatsOf is nil where each session was played once.
func repeatsOf(r *replay.Report, groups metricGroups) *repeatsView {
	if r.Repeats == nil {
		return nil
	}
	v := &repeatsView{K: r.Repeats.K, Means: repeatsMean(r.Repeats.K)}
	variance := slices.Clone(r.Repeats.Variance)
	place := func(name string) int {
		return slices.IndexFunc(r.Metrics, func(m replay.MetricReport) bool { return m.Name == name })
	}
	slices.SortStableFunc(variance, func(a, b replay.RepeatVariance) int { return cmp.Compare(place(a.Metric), place(b.Metric)) })
	for i := range variance {
		of := &variance[i]
		isFirst := slices.ContainsFunc(groups.first, func(m *replay.MetricReport) bool { return m.Name == of.Metric })
		switch row := varianceRowOf(r, of); {
		case isFirst:
			v.Rows = append(v.Rows, row)
		case of.Model == 0 && of.Session != nil && *of.Session == 0:
			v.Still++
		default:
			v.More = append(v.More, row)
		}
	}
	v.passes(r.Repeats)
	return v
}

func varianceRowOf(r *replay.Report, of *replay.RepeatVariance) varianceRow {
	unit := replay.Unit("")
	if m := metricOf(r, of.Metric); m != nil {
		unit = m.Unit
	}
	row := varianceRow{
		Metric: wordsOf(of.Metric, r.Run.Mode).name, Lane: laneWord(of.Lane), Mean: quantity(of.Mean, unit), Model: spread(of.Model, unit), Session: unknown, Share: unknown,
	}
	if of.Session != nil {
		row.Session = spread(*of.Session, unit)
		row.Share = "no spread"
		if all := of.Model + *of.Session; all > 0 && finite(all) {
			row.Share, row.Width = quantity(of.Model/all, replay.Share), math.Round(1000*of.Model/all)/10
		}
	}
	return row
}

// spread writes a variance as a standard deviation.
func spread(variance float64, unit replay.Unit) string {
	if !finite(variance) || variance < 0 {
		return unknown
	}
	return amount(math.Sqrt(variance), unit)
}

// passes lines up pass^k of both lanes: the first numbers and the last.
func (v *repeatsView) passes(repeats *replay.Repeats) {
	var ks []int
	for k := 1; k <= v.K; k++ {
		if k < maxKs || k == v.K {
			ks = append(ks, k)
		}
	}
	v.LeftKs = v.K - len(ks)
	for _, lane := range []string{replay.Baseline, replay.Candidate} {
		of := repeats.PassHatK[lane]
		if of == nil {
			continue
		}
		row := passRow{Lane: laneWord(lane)}
		for _, k := range ks {
			cell := passCell{K: strconv.Itoa(k), Value: unknown}
			if share, has := of[cell.K]; has {
				cell.Value = quantity(share, replay.Share)
			}
			row.Cells = append(row.Cells, cell)
		}
		v.Passes = append(v.Passes, row)
	}
	for _, k := range ks {
		v.Ks = append(v.Ks, strconv.Itoa(k))
	}
}

// repeatsMean explains the spread.
func repeatsMean(k int) string {
	return "Each session was played " + text.Count(k) + " times in each lane, and every comparison is of its means. The spread within a session is the model’s chance; " +
		"the spread between sessions is how much they differ."
}
