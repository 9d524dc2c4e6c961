package replay

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Report makes the report of a run: r has what was asked for, to which the figures and the verdict are added.
func (t *Tally) Report(r Report, requirement Requirement) (*Report, error) {
	run := &r.Run
	run.Sessions, run.PairsDropped = len(t.sessions), t.dropped
	r.Completed, r.Dropped, r.Unknown = t.ends[EndCompleted], t.ends[EndDropped], t.ends[EndUnknown]
	r.Metrics = make([]MetricReport, len(table))
	candidate, baseline := t.lanes[Candidate], t.lanes[Baseline]
	for i := range table {
		m := &table[i]
		r.Metrics[i] = MetricReport{Name: m.name, Unit: m.unit, LowerIsBetter: m.lowerIsBetter, Gated: m.gated}
		if candidate != nil {
			r.Metrics[i].Candidate, r.Metrics[i].CandidateOnSupport = estimate(m, candidate.whole[i]), estimate(m, candidate.onSupport[i])
		}
		if baseline != nil {
			r.Metrics[i].Baseline, r.Metrics[i].BaselineOnSupport = estimate(m, baseline.whole[i]), estimate(m, baseline.onSupport[i])
		}
	}
	if candidate != nil {
		run.take(r.Metrics)
	}
	r.UserThinkSeconds = estimate(&metric{unit: Seconds}, t.thinking)
	if candidate != nil && baseline != nil {
		t.judge(&r, requirement)
	}
	for _, lane := range []string{Baseline, Candidate} {
		if l := t.lanes[lane]; l != nil && l.latencyN > 0 {
			if r.PooledLatencyMS == nil {
				r.PooledLatencyMS = map[string]float64{}
			}
			r.PooledLatencyMS[lane] = l.latencySum / float64(l.latencyN)
		}
	}
	for turn := range maxDivergence + 1 {
		if n := t.divergences[turn]; n > 0 {
			r.Divergences = append(r.Divergences, Divergence{turn, n})
		}
	}
	t.cut()
	r.Notes = append(r.Notes, t.notes(&r)...)
	for _, s := range t.shown {
		r.Sessions = append(r.Sessions, *s.pair)
	}
	var err error
	run.Intervals, err = json.Marshal(intervals(r.Metrics))
	return &r, err
}

// take copies the candidate's figures into the row of the run.
func (r *Run) take(metrics []MetricReport) {
	for name, to := range map[string]**float64{
		CompletionMatch: &r.CompletionMatch, TurnCountRatio: &r.TurnCountRatio, StateProgression: &r.StateProgression, AvgLatency: &r.AvgLatencyMS,
		CompletionSeconds: &r.CompletionSeconds, DataAccuracy: &r.DataAccuracy, "support_coverage": &r.SupportCoverage,
	} {
		i := slices.IndexFunc(metrics, func(m MetricReport) bool { return m.Name == name })
		if e := metrics[i].Candidate; e != nil {
			*to = &e.Value
		}
	}
}

// judge applies both gates; the one that the run names decides.
func (t *Tally) judge(r *Report, requirement Requirement) {
	run := &r.Run
	spec := Compare(t.lanes[Baseline].means, t.lanes[Candidate].means)
	r.Spec = &spec
	for i := range r.Metrics {
		if passed, applies := spec.Tests[r.Metrics[i].Name]; applies {
			r.Metrics[i].Spec = &passed
		}
	}
	verdicts, notes := t.compareLanes(r.Metrics, t.lanes[Baseline], t.lanes[Candidate])
	r.Notes = append(r.Notes, notes...)
	run.Verdict = string(combine(verdicts))
	run.NonInferior = new(NonInferior.met(verdicts))
	passed := requirement.met(verdicts)
	if run.Gate == GateSpec {
		passed = spec.Passed && spec.Hard
	}
	r.Passed, run.Better = &passed, &passed
}

func (t *Tally) notes(r *Report) []Note {
	var notes []Note
	if t.dropped > 0 {
		notes = append(notes, Note{Text: "sessions left out, as a lane failed", Count: t.dropped, Examples: t.drops})
	}
	if r.Unknown > 0 {
		notes = append(notes, Note{Text: "sessions of which it is not known how they ended: not counted in completion match", Count: r.Unknown})
	}
	if far := len(t.sessions) + t.dropped - len(t.shown); far > 0 {
		notes = append(notes, Note{Text: fmt.Sprintf("sessions not shown: the %d are, in which there is most to see", len(t.shown)), Count: far})
	}
	return notes
}

// Notes tells of the rows of a log that say nothing, or contradict themselves.
func (f *Faults) Notes() []Note {
	var notes []Note
	for kind, n := range f.Counts {
		notes = append(notes, Note{Text: "in the log: " + kind, Count: n, Examples: f.Examples[kind]})
	}
	slices.SortFunc(notes, func(a, b Note) int {
		if a.Text < b.Text {
			return -1
		}
		return 1
	})
	return notes
}

// intervals are the bounds as they are stored with a run.
func intervals(metrics []MetricReport) map[string]any {
	type bounds struct {
		Candidate  *Estimate         `json:"candidate,omitempty"`
		Baseline   *Estimate         `json:"baseline,omitempty"`
		Difference *DifferenceReport `json:"difference,omitempty"`
	}
	all := map[string]any{}
	for _, m := range metrics {
		if m.Candidate != nil || m.Baseline != nil {
			all[m.Name] = bounds{m.Candidate, m.Baseline, m.Difference}
		}
	}
	return all
}
