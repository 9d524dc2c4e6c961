package variants

import (
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/replay"
)

// metricWords are a metric's name for people, and what it is in half a sentence.
type metricWords struct{ name, meaning string }

// wordsOf names a metric. In forced mode each turn is by itself: the match of states is one of turns, and support is
// about what an agent takes.
func wordsOf(metric string, mode replay.Mode) metricWords {
	if mode == replay.Forced {
		switch metric {
		case replay.StateProgression:
			return metricWords{"Turns to the logged state", "turns that lead to the state that the log has there"}
		case replay.SupportCoverage:
			return metricWords{"Turns taken", "logged turns that the agent could take"}
		}
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
	case replay.P95Latency:
		return metricWords{"95th percentile latency", "time within which 95% of a session's turns are answered"}
	case replay.SlowTurns:
		return metricWords{"Slow turns", "turns that take longer than --slow"}
	case replay.SupportCoverage:
		return metricWords{"Support coverage", "logged turns whose message answers what was asked"}
	case replay.TurnCountDiff:
		return metricWords{"Turn count difference", "turns more than in the log"}
	case "turn_count_off":
		return metricWords{"Turn count deviation", "how far the turn count ratio is from 1"}
	case "user_turns_exhausted":
		return metricWords{"Log ran out", "the log ended before the agent completed"}
	case replay.DataAccuracy:
		return metricWords{"Data accuracy", "logged fields collected with equal values"}
	case "data_collection_accuracy_normalised":
		return metricWords{"Normalised data accuracy", "equal fields, whatever the case and format"}
	case replay.ReplySimilarity:
		return metricWords{"Reply similarity", "how like the logged replies those of the agent are, by words"}
	case replay.ReplyWinRate:
		return metricWords{"Reply win rate", "replies that the judge prefers to the baseline's; a tie is half a win"}
	case "tokens":
		return metricWords{"Tokens", "read and written by the model, a session"}
	case replay.CostUSD:
		return metricWords{"Cost", "of the model, a session"}
	}
	return endWords(metric)
}

// endWords names the metrics on how a lane ended.
func endWords(metric string) metricWords {
	switch metric {
	case replay.Answered:
		return metricWords{"Answered", "sessions in which every message got an answer"}
	case replay.EndedEarly:
		return metricWords{"Ended early", "completed while the user had something to say"}
	case replay.MessagesUnsent:
		return metricWords{"Messages never said", "logged user messages that were not said"}
	case replay.CompletedShare:
		return metricWords{"Completed", "sessions that the agent completed"}
	case "completed_on_path":
		return metricWords{"Completed on path", "completed, with every turn supported"}
	case "completed_off_path":
		return metricWords{"Completed off path", "completed, with a turn not supported"}
	case "first_divergence_turn":
		return metricWords{"First divergence", "turn that first leaves the log's path"}
	case replay.CompletionSeconds:
		return metricWords{"Completion time", "first to last turn, where it completed"}
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

// plainMetric is what the names of metrics look like, by which --margin knows them.
var plainMetric = text.Regexp(`^[a-z][a-z0-9_]{0,60}$`)

// keyOf is the name by which a metric stands in the JSON report and in --margin; empty for what cannot be one.
func keyOf(metric string) string {
	if !plainMetric().MatchString(metric) {
		return ""
	}
	return metric
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
		return "lower is preferred"
	}
	return meaning + "; lower is preferred"
}

// roleOf says what a metric does in the gate.
func roleOf(m *replay.MetricReport) string {
	switch {
	case m.Difference == nil && (m.Gated || m.Guard):
		return "does not apply"
	case m.Gated:
		return "decides"
	case m.Guard:
		return "guard"
	}
	return "decides nothing"
}

// supportedMeans says when a turn is supported, which differs by mode.
func supportedMeans(mode replay.Mode) string {
	switch mode {
	case replay.Forced:
		return "A turn is supported when the agent could take it: it has the logged state, and goes on from there"
	case replay.Simulated:
		return "A turn is supported when a logged message answers what was asked there; " +
			"from the first that does not, a simulated user speaks"
	}
	return "A turn is supported when the logged message answers what was asked there"
}
