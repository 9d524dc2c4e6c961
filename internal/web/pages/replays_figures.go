package pages

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/report/variants"
	"github.com/rehearse-dev/rehearse/internal/web/pages/frame"
)

// list notes in which of the lists each session stands.
func (r *replayedRun) list(lists replay.Lists) {
	at := map[string]int{}
	for i, s := range r.sessions {
		at[s.ID] = i
	}
	for name, ids := range map[string][]string{
		"regressed": lists.Regressed, "fixed": lists.Fixed, "newly-lost": lists.NewlyLost, "lost": lists.Lost,
		"rescued": lists.Rescued, "censored": lists.Censored,
	} {
		for _, id := range ids {
			if i, ok := at[id]; ok {
				r.sessions[i].lists = append(r.sessions[i].lists, name)
			}
		}
	}
}

// storedMetrics are the metrics of a replay as its row in the store has them, the ones that decide first. read says
// which those are.
func storedMetrics(run replay.Run, read *replayedRun) (metrics []metric) {
	for name, m := range storedFigures(run) {
		words := variants.RowOf(name, run.Mode, replay.UnitOf(name), m.Baseline, m.Candidate, m.Difference)
		row := metric{
			Name: name, Label: words.Name, Meaning: words.Meaning, A: numberOf(m.Baseline), B: numberOf(m.Candidate),
			ShownA: cmp.Or(words.Baseline, "unknown"), ShownB: cmp.Or(words.Candidate, "unknown"),
			ShownDiff: cmp.Or(words.Difference, "unknown"), Interval: words.Interval,
		}
		if d := m.Difference; d != nil {
			row.Diff, row.N = frame.Plain(d.Mean), d.N
			row.Result = cmp.Or(d.Verdict, "inconclusive")
			// without its sessions nobody knows which direction is the good one
			if of, known := read.metrics[name]; known && d.Verdict == "" {
				row.Result = byInterval(d, of.LowerIsBetter)
			}
			if d.Low != nil { // of an interval that is open on one side one bound is known
				row.Low = frame.Plain(*d.Low)
			}
			if d.High != nil {
				row.High = frame.Plain(*d.High)
			}
			if row.Result == "inconclusive" && words.Detectable != "" {
				row.Unseen = "a loss of up to " + words.Detectable + " could have gone unnoticed"
			}
		}
		metrics = append(metrics, row)
	}
	rank := func(m metric) int {
		switch of := read.metrics[m.Name]; {
		case m.Name == replay.CompletionMatch:
			return 0
		case of.Gated:
			return 1
		case of.Guard:
			return 2
		case m.Name == "completed" || m.Name == replay.DataAccuracy:
			return 3
		case m.Diff == "":
			return 5
		}
		return 4
	}
	slices.SortFunc(metrics, func(a, b metric) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Label, b.Label))
	})
	return metrics
}

// storedFigure is what the row of a replay has of a metric.
type storedFigure struct {
	Candidate, Baseline *replay.Estimate
	Difference          *replay.DifferenceReport
}

// storedFigures are the figures of the row of a replay by metric; nil where it has none.
func storedFigures(run replay.Run) (stored map[string]storedFigure) {
	if json.Unmarshal(run.Intervals, &stored) != nil {
		return nil
	}
	return stored
}

func numberOf(e *replay.Estimate) string {
	if e == nil {
		return ""
	}
	return frame.Plain(e.Value)
}

// byInterval is what an interval says of a metric that decides nothing.
func byInterval(d *replay.DifferenceReport, lowerIsBetter bool) string {
	above, below := d.Low != nil && *d.Low > 0, d.High != nil && *d.High < 0
	switch {
	case above && !lowerIsBetter || below && lowerIsBetter:
		return "better"
	case above || below:
		return "worse"
	}
	return "inconclusive"
}

// gateWords say what a gate decided.
var gateWords = map[string]string{
	string(replay.Passed): "Passed", string(replay.NotPassed): "Not passed", string(replay.Underpowered): "Cannot say",
	string(replay.NotJudgeable): "Cannot be judged from this log",
}

// headlineOf returns the headline of a replay, made anew from its sessions; empty where the figures that come out are
// not those that are stored, as after a run with rules of its own which it has not kept.
func headlineOf(run replay.Run, made *replay.Report) string {
	if made.Gate == nil || string(made.Gate.Outcome) != run.Outcome || string(made.Gate.Verdict) != run.Verdict {
		return ""
	}
	stored := storedFigures(run)
	for _, m := range made.Metrics {
		was := stored[m.Name].Difference
		if (was == nil) != (m.Difference == nil) {
			return ""
		}
		if was != nil && (!sameBound(was.Low, m.Difference.Low) || !sameBound(was.High, m.Difference.High) ||
			!sameBound(was.MarginSize, m.Difference.MarginSize)) {
			return ""
		}
	}
	return made.Gate.Headline
}

func sameBound(a, b *float64) bool { return a == b || a != nil && b != nil && *a == *b }
