package replay

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/base/stats"
)

// Report makes the report of a run: r has what was asked for, to which the figures and the gate are added.
func (t *Tally) Report(r Report, rules Rules) (*Report, error) {
	run := &r.Run
	run.Sessions, run.PairsDropped = len(t.sessions), len(t.lost)
	r.Completed, r.Dropped, r.Unknown = t.ends[EndCompleted], t.ends[EndDropped], t.ends[EndUnknown]
	if l := r.LogToFigures; l != nil {
		l.Lost, l.Compared, l.Censored = run.PairsDropped, run.Sessions, 0
		for i := range t.sessions {
			if t.isCensored(i) {
				l.Censored++
			}
		}
		l.Completed, l.DroppedOff, l.UnknownOutcome = r.Completed-l.Censored, r.Dropped, r.Unknown
	}
	r.Lost, r.VariantOrder = t.lostPairs(), VariantOrder{t.firsts[Baseline], t.firsts[Candidate]}
	var err error
	if r.Clusters, err = t.clusters(rules.Cluster); err != nil {
		return nil, err
	}
	r.Assertions = t.assertions
	metrics, in := rules.metrics(run.Mode), t.all()
	if in.rescued = t.rescued(in.sessions); in.rescued != nil {
		decideByCompleted(metrics)
	}
	if p := t.preferences; p != (Preferences{}) {
		r.Replies = &p
	}
	t.figure(&r, metrics, rules.Cluster)
	if candidate := t.lanes[Candidate]; candidate != nil && len(t.sessions) > 0 {
		run.take(r.Metrics)
		r.Outcomes, r.Lists, r.Repeats = t.outcomes(), t.lists(), t.repeated()
		if t.lanes[Baseline] != nil {
			t.judge(&r, metrics, &rules, in)
		}
	}
	if run.Mode == Simulated && len(t.sessions) > 0 {
		r.Simulated = map[string]SimulatedTurns{}
		for name, l := range t.lanes {
			r.Simulated[name] = l.simulated
		}
	}
	r.Reliability = t.reliability(&r)
	t.cut()
	r.Notes = append(r.Notes, t.notes(&r, metrics, &rules)...)
	for _, s := range t.shown {
		r.Sessions = append(r.Sessions, *s.pair)
	}
	if run.Intervals, err = json.Marshal(intervals(r.Metrics)); err != nil {
		return &r, err
	}
	if r.Fidelity != nil {
		if run.Fidelity, err = json.Marshal(r.Fidelity); err != nil {
			return &r, err
		}
	}
	run.Rules, err = rules.kept()
	return &r, err
}

// figure fills in the means of each lane.
func (t *Tally) figure(r *Report, metrics []metric, by Clustering) {
	r.Metrics = make([]MetricReport, len(metrics))
	for i := range metrics {
		m := &metrics[i]
		of := MetricReport{
			Name: m.name, Unit: m.unit, LowerIsBetter: m.lowerIsBetter, Gated: m.role == decides,
			Guard: m.role == guards,
		}
		if l := t.lanes[Candidate]; l != nil {
			of.Candidate, of.CandidateOnSupport = t.estimate(m, by, l.column(i)), t.estimate(m, by, l.onSupport[i])
		}
		if l := t.lanes[Baseline]; l != nil {
			of.Baseline, of.BaselineOnSupport = t.estimate(m, by, l.column(i)), t.estimate(m, by, l.onSupport[i])
		}
		r.Metrics[i] = of
	}
	r.UserThinkSeconds = t.estimate(&metric{unit: Seconds}, by, t.thinking)
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
}

// take copies the candidate's figures into the row of the run.
func (r *Run) take(metrics []MetricReport) {
	for name, to := range map[string]**float64{
		CompletionMatch: &r.CompletionMatch, TurnCountRatio: &r.TurnCountRatio, StateProgression: &r.StateProgression,
		AvgLatency: &r.AvgLatencyMS, CompletionSeconds: &r.CompletionSeconds, DataAccuracy: &r.DataAccuracy,
		SupportCoverage: &r.SupportCoverage,
	} {
		i := slices.IndexFunc(metrics, func(m MetricReport) bool { return m.Name == name })
		if e := metrics[i].Candidate; e != nil {
			*to = &e.Value
		}
	}
}

// judge applies both gates; the one that the run names decides. Everything that says how the run came out is set here,
// from one outcome.
func (t *Tally) judge(r *Report, metrics []metric, rules *Rules, in part) {
	run := &r.Run
	spec := Compare(t.lanes[Baseline].means(), t.lanes[Candidate].means())
	r.Spec = &spec
	for i := range r.Metrics {
		if passed, applies := spec.Tests[r.Metrics[i].Name]; applies {
			r.Metrics[i].Spec = &passed
		}
	}
	found := t.compareVariants(r.Metrics, metrics, rules, in)
	r.Slices = t.slices(rules.metrics(run.Mode), rules)
	found.slices, found.openSlices = r.Slices, t.openSlices(rules.metrics(run.Mode), rules)
	found.newlyLost, found.preferences = r.Lists.NewlyLost, t.preferences
	found.support, found.fidelity, found.mode = t.supportOf(), r.Fidelity, run.Mode
	gate := found.judge(rules)
	if len(found.unfit(rules)) > 0 {
		nothingGood(r.Metrics)
	}
	if run.Gate == GateSpec {
		gate = specGate(&spec, gate, found.facts(!found.preferences.Judged() && spec.Passed && spec.Hard &&
			gate.Verdict != stats.Worse))
	}
	if t.assertions != nil {
		t.assertions.decide(&gate)
	}
	r.Gate = &gate
	run.Verdict, run.Outcome = string(gate.Verdict), string(gate.Outcome)
	run.Better = new(gate.Verdict == stats.Better)
	if run.Gate == GateSpec {
		run.Better = &spec.Passed
	}
	run.NonInferior = new(gate.Verdict == stats.Better || gate.Verdict == stats.NonInferior)
	r.Passed = new(gate.Outcome == Passed)
}

// nothingGood takes back the verdicts that a log cannot give that does not fit the agents.
func nothingGood(reports []MetricReport) {
	for i := range reports {
		if d := reports[i].Difference; d != nil &&
			(d.Verdict == string(stats.Better) || d.Verdict == string(stats.NonInferior)) {
			d.Verdict = string(VerdictNotJudgeable)
		}
	}
}

func (t *Tally) notes(r *Report, metrics []metric, rules *Rules) []Note {
	var notes []Note
	if n := len(t.lost); n > 0 {
		notes = append(notes, Note{Text: "sessions left out, as a lane failed", Count: n, Examples: t.drops})
	}
	if r.Baseline != nil && rules.Apart {
		notes = append(notes, Note{Text: fmt.Sprintf(
			"latency is not compared: the agents are of different kinds (%s and %s)", r.Candidate.Kind,
			r.Baseline.Kind)})
	}
	notes = append(notes, t.oneSided(metrics)...)
	if r.Unknown > 0 {
		notes = append(notes, Note{
			Text: "sessions of which it is not known how they ended: not counted in completion match", Count: r.Unknown,
		})
	}
	if far := len(t.sessions) + len(t.lost) - len(t.shown); far > 0 {
		notes = append(notes, Note{
			Text:  fmt.Sprintf("sessions not shown: the %d are, in which there is most to see", len(t.shown)),
			Count: far,
		})
	}
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
