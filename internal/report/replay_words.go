package report

import (
	"fmt"
	"strings"
	"time"

	"rehearse/internal/replay"
)

// Limits of what is told in words.
const (
	maxReason     = 200 // characters of why a session was left out
	maxReasons    = 10
	maxNotes      = 50
	maxNoteText   = 300
	maxExamples   = 5
	maxMetricName = 28
)

// metricWords are a metric's name for people, and what it is in half a sentence.
type metricWords struct{ name, meaning string }

func wordsOf(metric string) metricWords {
	switch metric {
	case replay.CompletionMatch:
		return metricWords{"Completion match", "sessions that ended as in the log"}
	case replay.TurnCountDiff:
		return metricWords{"Turn count difference", "turns more than in the log"}
	case replay.TurnCountRatio:
		return metricWords{"Turn count ratio", "turns for each logged one"}
	case replay.StateProgression:
		return metricWords{"State progression match", "how alike the sequences of states are"}
	case replay.AvgLatency:
		return metricWords{"Average latency", "time to an answer"}
	case replay.CompletionSeconds:
		return metricWords{"Completion time", "from the first to the last turn of a completed replay"}
	case replay.DataAccuracy:
		return metricWords{"Data accuracy", "logged fields collected with equal values"}
	case "data_collection_accuracy_normalized", "data_collection_accuracy_normalised":
		return metricWords{"Data accuracy, normalised", "the same, whatever the case, spaces and formats"}
	case "support_coverage":
		return metricWords{"Support coverage", "turns whose message answers what was asked"}
	case "cost_usd":
		return metricWords{name: "Cost"}
	}
	return metricWords{name: capital(oneLine(strings.ReplaceAll(metric, "_", " "), maxMetricName))}
}

// metricLabel is a metric's name within a sentence.
func metricLabel(metric string) string {
	name := wordsOf(metric).name
	return strings.ToLower(name[:min(1, len(name))]) + name[min(1, len(name)):]
}

// verdictPhrase is the verdict of one metric for people.
func verdictPhrase(verdict string) string {
	switch replayVerdict(verdict) {
	case replayBetter:
		return "better"
	case replayWorse:
		return "worse"
	case replayNonInferior:
		return "non-inferior"
	case replayUndecided:
		return "not told apart"
	}
	return oneLine(verdict, 20)
}

// What the words mean that not everybody knows.
const (
	supportedMeans   = "A turn is supported when the logged message answers what was asked there"
	nonInferiorMeans = "Non-inferior: whatever the candidate loses is within the margin, the loss that does not matter"
	detectableMeans  = "Detectable: the smallest true difference that would have been found four times in five"
)

// replayHeadline says how the run came out.
func replayHeadline(r *replay.Report) string {
	s := ""
	switch replayVerdictOf(r) {
	case replayFailed:
		return "The run failed: nothing can be said"
	case replayEmpty:
		return "No sessions were compared"
	case replayTwice:
		s = "The same variant twice: what differs is noise"
	case replayAlone:
		s = "Replayed against the log alone, without a baseline"
	case replayBetter:
		s = "The candidate is better than the baseline"
	case replayNonInferior:
		s = "The candidate is no worse than the baseline, within the margins"
	case replayWorse:
		s = "The candidate is worse than the baseline"
	default:
		s = "Candidate and baseline are not told apart"
	}
	switch r.Run.Status {
	case replay.Partially:
		s += ", but the run was broken off"
	case replay.Running:
		s += " so far"
	}
	return s
}

// replaySentence says in one sentence how the run came out, and in what.
func replaySentence(r *replay.Report) string {
	s := replayHeadline(r)
	if detail := replayDetail(r); detail != "" {
		s += ": " + detail
	}
	return s + "."
}

// replayDetail says in what the run came out so, to follow the headline; it may be empty.
func replayDetail(r *replay.Report) string {
	switch replayVerdictOf(r) {
	case replayFailed, replayEmpty:
		return strings.TrimSuffix(oneLine(r.Run.Error, maxNoteText), ".")
	case replayAlone:
		if m := metricOf(r, replay.CompletionMatch); m != nil && m.Candidate != nil {
			return fmt.Sprintf("%s of %s ended as in the log", quantity(m.Candidate.Value, replay.Share), many(m.Candidate.N, "session"))
		}
		return ""
	}
	found := verdictGroups(r)
	if len(found) == 0 {
		return "no metric could be compared"
	}
	return strings.Join(found, "; ")
}

// verdictGroups names the metrics of each verdict: those that the gate looks at, or all where it looks at none.
func verdictGroups(r *replay.Report) (groups []string) {
	gated := false
	for i := range r.Metrics {
		gated = gated || r.Metrics[i].Gated && r.Metrics[i].Difference != nil
	}
	names := map[replayVerdict][]string{}
	for i := range r.Metrics {
		if m := &r.Metrics[i]; m.Difference != nil && (m.Gated || !gated) {
			verdict := replayVerdict(m.Difference.Verdict)
			names[verdict] = append(names[verdict], metricLabel(m.Name))
		}
	}
	for _, verdict := range []replayVerdict{replayWorse, replayBetter, replayNonInferior, replayUndecided} {
		if list := names[verdict]; len(list) > 0 {
			groups = append(groups, verdictPhrase(string(verdict))+" in "+listed(list))
		}
	}
	return groups
}

// listed joins names as in a sentence.
func listed(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// gateSentence says what the run's gate came to, and the specification's beside it; empty without a baseline.
func gateSentence(r *replay.Report) string {
	var parts []string
	if r.Passed != nil {
		parts = append(parts, fmt.Sprintf("The %s gate is %s.", oneLine(r.Run.Gate, 20), passedWord(*r.Passed)))
	}
	if r.Spec != nil {
		parts = append(parts, specSentence(r.Spec))
	}
	return strings.Join(parts, " ")
}

func passedWord(passed bool) string {
	if passed {
		return "passed"
	}
	return "not passed"
}

func specSentence(c *replay.Comparison) string {
	passed := 0
	for _, good := range c.Tests {
		if good {
			passed++
		}
	}
	least := "and completion match is below 80%, the least"
	if c.Hard {
		least = "and completion match is at least 80%"
	}
	return fmt.Sprintf("Of the specification's rules %d of %d hold (%s, 70%% are needed), %s.", passed, len(c.Tests), percent(c.PassedRatio), least)
}

// modeMeans says how sessions were replayed.
func modeMeans(m replay.Mode) string {
	switch m {
	case replay.Recorded:
		return "the logged messages in their order"
	case replay.Forced:
		return "each message from the logged state"
	case replay.Simulated:
		return "the logged messages, then a simulated user"
	}
	return ""
}

// outcomeWord says how a session ended.
func outcomeWord(outcome string) string {
	switch outcome {
	case "completed":
		return "completed"
	case "dropped":
		return "dropped off"
	case "unknown", "":
		return "unknown end"
	}
	return oneLine(outcome, 20)
}

// outcomesOf counts how the sessions had ended.
func outcomesOf(r *replay.Report) string {
	var parts []string
	for _, o := range []struct {
		n    int
		word string
	}{{r.Completed, "completed"}, {r.Dropped, "dropped off"}, {r.Unknown, "with an unknown end"}} {
		if o.n > 0 {
			parts = append(parts, count(o.n)+" "+o.word)
		}
	}
	return strings.Join(parts, ", ")
}

// period names the first and the last day.
func period(from, to time.Time) string {
	if from.IsZero() || to.IsZero() {
		return ""
	}
	first, last := from.UTC().Format(time.DateOnly), to.UTC().Format(time.DateOnly)
	if first == last {
		return first
	}
	return first + " to " + last
}

// variantWords names a variant with what it is made of.
func variantWords(v *replay.Replayed) string {
	parts := []string{oneLine(v.ID, 60)}
	if v.Name != "" {
		parts = append(parts, oneLine(v.Name, 80))
	}
	for _, p := range []struct{ name, value string }{{"flow ", v.FlowID}, {"prompt ", v.Prompt}, {"model ", v.Model}} {
		if p.value != "" {
			parts = append(parts, p.name+oneLine(p.value, 60))
		}
	}
	return strings.Join(parts, " · ")
}

// divergenceWords says where sessions first left the log's path, as parts of a list.
func divergenceWords(r *replay.Report) (parts []string) {
	never, turns, _ := divergencesOf(r)
	if never > 0 {
		parts = append(parts, "never: "+count(never))
	}
	for _, t := range turns {
		if t.Sessions > 0 {
			parts = append(parts, fmt.Sprintf("turn %s: %s", t.Label, count(t.Sessions)))
		}
	}
	return parts
}

// divergenceBar is one turn of the histogram.
type divergenceBar struct {
	Label    string
	Sessions int
}

// Limits of the histogram: how many turns it has room for, and from which on the last one stands for all beyond. The report itself may
// have put later turns together already.
const (
	maxDivergences  = 12
	fromHereOnTurns = 10
)

// divergencesOf splits the report's divergences in those that never left the log's path and those that did, by turn and without gaps.
func divergencesOf(r *replay.Report) (never int, turns []divergenceBar, all int) {
	last := 0
	for _, d := range r.Divergences {
		last = max(last, d.Turn)
	}
	for turn := range min(last, maxDivergences) {
		turns = append(turns, divergenceBar{Label: count(turn + 1)})
	}
	for _, d := range r.Divergences {
		all += d.Sessions
		if d.Turn <= 0 {
			never += d.Sessions
			continue
		}
		turns[min(d.Turn, maxDivergences)-1].Sessions += d.Sessions
	}
	if last >= fromHereOnTurns {
		turns[len(turns)-1].Label += "+"
	}
	return never, turns, all
}
