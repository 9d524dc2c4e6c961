package lanes

import (
	"slices"
	"strings"

	"rehearse/internal/replay"
	"rehearse/internal/text"
)

// supportCoverage is the metric that says how far the log carries. It is in no gate, and no other figure can be read without it.
const supportCoverage = "support_coverage"

// metricGroups are the metrics of a report as they are shown.
type metricGroups struct {
	// first are those that decide, with the support coverage.
	first []*replay.MetricReport
	// more are the others, as far as they say something; still are those that do not.
	more, still []*replay.MetricReport
}

// groupsOf splits the metrics of a report. Where none is gated, all come first.
func groupsOf(r *replay.Report) (g metricGroups) {
	gated := slices.ContainsFunc(r.Metrics, func(m replay.MetricReport) bool { return m.Gated })
	for i := range r.Metrics[:min(len(r.Metrics), maxMetrics)] {
		switch m := &r.Metrics[i]; {
		case m.Gated || !gated || m.Name == supportCoverage:
			g.first = append(g.first, m)
		case isStill(m):
			g.still = append(g.still, m)
		default:
			g.more = append(g.more, m)
		}
	}
	return g
}

// isStill reports whether a metric says nothing, as it applies nowhere or is the same in every session of both lanes.
func isStill(m *replay.MetricReport) bool {
	if m.Candidate == nil || m.Baseline == nil {
		return isConstant(m.Candidate, m.Unit) && isConstant(m.Baseline, m.Unit)
	}
	return m.Candidate.Value == m.Baseline.Value && isConstant(m.Candidate, m.Unit) && isConstant(m.Baseline, m.Unit)
}

// isConstant reports whether a mean is that of equal figures, which a mean at the end of its scale always is.
func isConstant(e *replay.Estimate, unit replay.Unit) bool {
	switch {
	case e == nil:
		return true
	case unit == replay.Share && e.Value == 1:
		return true
	case e.Value == 0 && unit != replay.Turns: // which may be below 0
		return true
	}
	return e.Low != nil && e.High != nil && *e.Low == *e.High
}

// stillWords names the metrics that are not shown, with what they always are; empty when there are none.
func stillWords(still []*replay.MetricReport, mode replay.Mode) string {
	names := make([]string, 0, len(still))
	for _, m := range still {
		value := estimate(m.Candidate, m.Unit)
		if m.Candidate == nil {
			value = estimate(m.Baseline, m.Unit)
		}
		names = append(names, metricLabel(m.Name, mode)+" ("+value+")")
	}
	if len(names) == 0 {
		return ""
	}
	return "Not shown, as nothing varies: " + strings.Join(names, ", ") + "."
}

// metricWords are a metric's name for people, and what it is in half a sentence.
type metricWords struct{ name, meaning string }

// wordsOf names a metric. In forced mode each turn is by itself, so that the match of states is one of turns.
func wordsOf(metric string, mode replay.Mode) metricWords {
	if metric == replay.StateProgression && mode == replay.Forced {
		return metricWords{"Turns to the logged state", "turns that lead to the state that the log has there"}
	}
	switch metric {
	case replay.CompletionMatch:
		return metricWords{"Completion match", "sessions that ended as in the log"}
	case replay.TurnCountRatio:
		return metricWords{"Turn count ratio", "turns for each one in the log"}
	case replay.StateProgression:
		return metricWords{"State progression match", "how alike the paths through the states are"}
	case replay.AvgLatency:
		return metricWords{"Average latency", "time to an answer"}
	case supportCoverage:
		return metricWords{"Support coverage", "turns whose message answers what was asked"}
	case replay.TurnCountDiff:
		return metricWords{"Turn count difference", "turns more than in the log"}
	case "turn_count_off":
		return metricWords{"Turn count deviation", "how far the turn count ratio is from 1"}
	case "user_turns_exhausted":
		return metricWords{"Log ran out", "the log ended before the flow completed"}
	case replay.DataAccuracy:
		return metricWords{"Data accuracy", "logged fields collected with equal values"}
	case "data_collection_accuracy_normalised":
		return metricWords{"Normalised data accuracy", "equal fields, whatever the case and format"}
	case replay.CompletionSeconds:
		return metricWords{"Completion time", "first to last turn, where it completed"}
	case "tokens":
		return metricWords{"Tokens", "read and written by the model, a session"}
	case "cost_usd":
		return metricWords{"Cost", "of the model, a session"}
	}
	return sequenceWords(metric)
}

// sequenceWords names the ways to compare two paths through the states.
func sequenceWords(metric string) metricWords {
	switch metric {
	case "states_lcs":
		return metricWords{"Longest common path", "longest common subsequence of states"}
	case "states_needleman_wunsch":
		return metricWords{"Aligned paths", "Needleman-Wunsch: misfits count against it"}
	case "states_by_turn":
		return metricWords{"Turn by turn", "turns that lead to the logged state"}
	case "states_exact":
		return metricWords{"Exact path", "sessions with the logged states, no others"}
	case "states_in_order":
		return metricWords{"All states in order", "sessions with every logged state in order"}
	case "states_any_order":
		return metricWords{"All states in any order", "sessions with every logged state"}
	case "states_precision":
		return metricWords{"State precision", "reached states that the log has"}
	case "states_recall":
		return metricWords{"State recall", "logged states that were reached"}
	}
	return metricWords{name: text.Capital(text.OneLine(strings.ReplaceAll(metric, "_", " "), maxMetricName))}
}

// metricLabel is a metric's name within a sentence.
func metricLabel(metric string, mode replay.Mode) string {
	if metric == replay.StateProgression && mode == replay.Forced {
		return "the share of turns to the logged state"
	}
	name := wordsOf(metric, mode).name
	return strings.ToLower(name[:min(1, len(name))]) + name[min(1, len(name)):]
}

// meaningOf is what a metric is, and which way it should go.
func meaningOf(m *replay.MetricReport, mode replay.Mode) string {
	meaning := wordsOf(m.Name, mode).meaning
	switch {
	case !m.LowerIsBetter:
		return meaning
	case meaning == "":
		return "lower is better"
	}
	return meaning + "; lower is better"
}
