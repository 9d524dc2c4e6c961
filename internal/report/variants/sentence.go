package variants

import (
	"fmt"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/stats"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/replay"
)

// What the words mean that not everybody knows.
const (
	nonInferiorMeans = "Non-inferior: whatever the candidate loses is within the margin, the loss that does not matter"
	leftOpenMeans    = "Left open: there are too few sessions to tell which of the two is ahead"
	alikeMeans       = "Latencies of a session that are less than 10 ms apart count as equal, and a mean difference " +
		"below 100 ms is never harm"
	noneDetectable = "none where there are too few sessions for any"
)

// verdictMeanings explain the verdicts and figures that the metrics have.
func verdictMeanings(r *replay.Report, metrics []*replay.MetricReport) []string {
	margin, open, none, alike := false, false, false, false
	for _, m := range metrics {
		if d := m.Difference; d != nil {
			margin = margin || d.Verdict == string(nonInferior)
			open = open || d.Verdict == string(undecided)
			none = none || detectable(d, m.Unit) == undetectable
			alike = alike || m.Unit == replay.Milliseconds && d.Changed < d.N
		}
	}
	var words []string
	if margin {
		words = append(words, nonInferiorMeans)
	}
	if open {
		words = append(words, leftOpenMeans)
	}
	if alike {
		words = append(words, alikeMeans)
	}
	if none {
		return append(words, detectableMeans(r)+", "+noneDetectable)
	}
	return append(words, detectableMeans(r))
}

// detectableMeans says with what probability a loss would have been found: that which was asked for, else the usual
// one.
func detectableMeans(r *replay.Report) string {
	power := stats.Power
	if r.Gate != nil && r.Gate.MinPower > 0 {
		power = r.Gate.MinPower
	}
	return fmt.Sprintf("Detectable: the smallest true loss that would have been found with probability %.3g", power)
}

// headline is the line by which a run is known: its gate's, where it has one.
func headline(r *replay.Report) string {
	switch v := verdictOf(r); {
	case v == failed:
		return "The run failed: nothing can be said"
	case v == empty:
		return "No sessions were compared"
	case r.Gate == nil:
		return "Replayed against the log alone, without a baseline" + unfinished(r)
	}
	return text.OneLine(r.Gate.Headline, maxHeadline) + unfinished(r)
}

// maxHeadline bounds the line of a gate.
const maxHeadline = 2_000

// unfinished says that a run has not come to its end.
func unfinished(r *replay.Report) string {
	switch r.Run.Status {
	case replay.Partially:
		return ", but the run was broken off"
	case replay.Running:
		return " so far"
	}
	return ""
}

// detail says in what the run came out so, in sentences to follow the headline; it may be empty.
func detail(r *replay.Report) string {
	switch verdictOf(r) {
	case failed, empty:
		if s := strings.TrimSuffix(text.OneLine(r.Run.Error, maxNoteText), "."); s != "" {
			return text.Capital(s) + "."
		}
		return ""
	case alone:
		if m := metricOf(r, replay.CompletionMatch); m != nil && m.Candidate != nil {
			return fmt.Sprintf("%s of %s ended as in the log.", quantity(m.Candidate.Value, replay.Share),
				text.Plural(m.Candidate.N, "session"))
		}
		return ""
	case twice:
		return noiseSentence(r)
	}
	return foundSentence(r)
}

// metricsByVerdict names the metrics of each verdict: those that the gate looks at. A guard is named only where it is
// worse, as by it a candidate can only fail.
func metricsByVerdict(r *replay.Report) map[verdict][]string {
	names := map[verdict][]string{}
	for _, m := range groupsOf(r).first {
		if d := m.Difference; d != nil && d.Verdict != "" && (!m.Guard || d.Verdict == string(worse)) {
			names[verdict(d.Verdict)] = append(names[verdict(d.Verdict)], metricLabel(m.Name, r.Run.Mode))
		}
	}
	return names
}

// foundSentence says what is known of the metrics, then what is not.
func foundSentence(r *replay.Report) string {
	names := metricsByVerdict(r)
	var found []string
	for _, group := range []struct {
		verdict verdict
		words   string
	}{{worse, "worse in "}, {better, "better in "}, {nonInferior, "non-inferior (no loss beyond the margin) in "}} {
		if list := names[group.verdict]; len(list) > 0 {
			found = append(found, group.words+listed(list))
		}
	}
	known := strings.Join(found, ", ")
	if last := len(found) - 1; last > 0 {
		known = strings.Join(found[:last], ", ") + ", and " + found[last]
	}
	if known != "" && verdictOf(r) != undecided {
		known = "the candidate is " + known
	}
	apart := ""
	if verdictOf(r) == nonInferior && len(names[better]) > 0 {
		known, apart = "each metric by itself, "+known, " Together that is too little to call the candidate better."
	}
	open := ""
	if list := names[verdict(replay.VerdictNotJudgeable)]; len(list) > 0 {
		open = listed(list) + " cannot be judged from this log"
	}
	if list := names[undecided]; len(list) > 0 {
		if open != "" {
			open += ", "
		}
		open += listed(list) + plural(len(list), " is", " are") + " left open"
	}
	switch {
	case known == "" && open == "":
		return "No metric could be compared."
	case known == "" || open == "":
		return text.Capital(known+open) + "." + apart
	}
	return text.Capital(known) + "; " + open + "." + apart
}

// noiseSentence says whether chance alone made the same variant differ from itself.
func noiseSentence(r *replay.Report) string {
	const same = "The same variant twice: what differs is noise. "
	names := metricsByVerdict(r)
	if wrong := append(names[worse], names[better]...); len(wrong) > 0 {
		return same + "Yet it differs from itself in " + listed(wrong) +
			": a difference as large as that may be chance."
	}
	return same + "No metric differs by more than chance, as it should be."
}

// listed joins names as in a sentence.
func listed(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// plural chooses the word for a number.
func plural(n int, one, several string) string {
	if n == 1 {
		return one
	}
	return several
}

// gateSentence says what the specification's gate came to, which is always printed; empty without a baseline.
func gateSentence(r *replay.Report) string {
	if r.Spec == nil {
		return ""
	}
	said := "The spec gate, which compares means and does not decide here, is "
	if r.Run.Gate == replay.GateSpec {
		said = "The spec gate is "
	}
	return said + passedWord(r.Spec.Passed && r.Spec.Hard) + ": " + specWords(r) + "."
}

func passedWord(passed bool) string {
	if passed {
		return "passed"
	}
	return "not passed"
}

// specWords say how the specification's gate came to its verdict.
func specWords(r *replay.Report) string {
	tests := r.Spec.Tests
	held := 0
	for _, good := range tests {
		if good {
			held++
		}
	}
	rules := fmt.Sprintf("%d of its %d rules hold (70%% are needed)", held, len(tests))
	switch {
	case len(tests) == 0:
		rules = "none of its rules applies"
	case held == len(tests):
		rules = fmt.Sprintf("all of its %d rules hold", held)
	case !r.Spec.Passed:
		rules = "only " + rules
	}
	and := ", and "
	if r.Spec.Passed != r.Spec.Hard {
		and = ", but "
	}
	switch {
	case r.Spec.Hard:
		return rules + and + "completion match reaches 80%"
	case r.Run.CompletionMatch == nil:
		return rules + ", and completion match, of which it asks for 80%, is unknown"
	}
	return rules + and + "completion match is below the 80% that it asks for"
}
