package lanes

import (
	"fmt"
	"strings"

	"rehearse/internal/replay"
	"rehearse/internal/text"
)

// What the words mean that not everybody knows.
const (
	supportedMeans   = "A turn is supported when the logged message answers what was asked there"
	nonInferiorMeans = "Non-inferior: whatever the candidate loses is within the margin, the loss that does not matter"
	leftOpenMeans    = "Left open: there are too few sessions to tell which of the two is ahead"
	alikeMeans       = "Latencies of a session that are less than 10 ms apart count as equal: nobody notices"
	detectableMeans  = "Detectable: the smallest true difference that would have been found four times in five"
	noneDetectable   = "none where there are too few sessions for any"
)

// verdictMeanings explain the verdicts and figures that the metrics have.
func verdictMeanings(metrics []*replay.MetricReport) []string {
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
		return append(words, detectableMeans+", "+noneDetectable)
	}
	return append(words, detectableMeans)
}

// headline says how the run came out.
func headline(r *replay.Report) string {
	s := ""
	switch v := verdictOf(r); {
	case v == failed || v == empty || r.Gate == nil:
	default:
		return text.OneLine(r.Gate.Headline, maxHeadline) + unfinished(r)
	}
	switch verdictOf(r) {
	case failed:
		return "The run failed: nothing can be said"
	case empty:
		return "No sessions were compared"
	case twice:
		s = "The same variant twice: what differs is noise"
	case alone:
		s = "Replayed against the log alone, without a baseline"
	case better:
		s = "The candidate is better than the baseline"
	case nonInferior:
		s = "The candidate is no worse than the baseline, within the margins"
	case worse:
		s = "The candidate is worse than the baseline"
	default:
		s = "Candidate and baseline are not told apart"
	}
	return s + unfinished(r)
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

// sentences say how the run came out, and in what. What is known comes first, also where that is not enough for a verdict.
func sentences(r *replay.Report) string {
	detail := detail(r)
	switch {
	case detail == "":
		return headline(r) + "."
	case r.Gate != nil:
		return detail // the headline stands above it
	case verdictOf(r) == undecided && len(metricsByVerdict(r)[undecided]) < comparedMetrics(r):
		return detail + " Overall, " + strings.ToLower(headline(r)[:1]) + headline(r)[1:] + "."
	}
	return headline(r) + ". " + detail
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
			return fmt.Sprintf("%s of %s ended as in the log.", quantity(m.Candidate.Value, replay.Share), text.Plural(m.Candidate.N, "session"))
		}
		return ""
	case twice:
		return noiseSentence(r)
	}
	return foundSentence(r)
}

// metricsByVerdict names the metrics of each verdict: those that the gate looks at, or all where it looks at none.
func metricsByVerdict(r *replay.Report) map[verdict][]string {
	names := map[verdict][]string{}
	for _, m := range groupsOf(r).first {
		if d := m.Difference; d != nil && d.Verdict != "" {
			names[verdict(d.Verdict)] = append(names[verdict(d.Verdict)], metricLabel(m.Name, r.Run.Mode))
		}
	}
	return names
}

func comparedMetrics(r *replay.Report) (n int) {
	for _, names := range metricsByVerdict(r) {
		n += len(names)
	}
	return n
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
		known = "It is " + known // the headline has said of what
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
		return text.Capital(known+open) + "."
	}
	return text.Capital(known) + "; " + open + "."
}

// noiseSentence says whether chance alone made the same variant differ from itself.
func noiseSentence(r *replay.Report) string {
	names := metricsByVerdict(r)
	if wrong := append(names[worse], names[better]...); len(wrong) > 0 {
		return "Yet it differs from itself in " + listed(wrong) + ": a difference as large as that may be chance."
	}
	return "No metric differs by more than chance, as it should be."
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

// gateSentence says what the run's gate came to, and the other one beside it; empty without a baseline.
func gateSentence(r *replay.Report) string {
	var parts []string
	spec := r.Run.Gate == replay.GateSpec
	if r.Gate == nil && r.Passed != nil && !(spec && r.Spec != nil) {
		said := fmt.Sprintf("The %s gate is %s", text.OneLine(r.Run.Gate, 20), passedWord(*r.Passed))
		if r.Run.Gate == replay.GatePaired {
			said += "; it compares the lanes session by session"
		}
		parts = append(parts, said+".")
	}
	if r.Spec != nil {
		said := "The spec gate, which compares means and does not decide here, is "
		if spec {
			said = "The spec gate is "
		}
		parts = append(parts, said+passedWord(r.Spec.Passed && r.Spec.Hard)+": "+specWords(r.Spec)+".")
	}
	return strings.Join(parts, " ")
}

func passedWord(passed bool) string {
	if passed {
		return "passed"
	}
	return "not passed"
}

// specWords say how the specification's gate came to its verdict.
func specWords(c *replay.Comparison) string {
	if len(c.Tests) == 0 {
		return "none of its rules applies"
	}
	held := 0
	for _, good := range c.Tests {
		if good {
			held++
		}
	}
	rules := fmt.Sprintf("%d of its %d rules hold (70%% are needed)", held, len(c.Tests))
	if held == len(c.Tests) {
		rules = fmt.Sprintf("all of its %d rules hold", held)
	}
	switch {
	case c.Passed && c.Hard:
		return rules + ", and completion match reaches 80%"
	case c.Passed:
		return rules + ", but completion match is below the 80% that it asks for"
	case c.Hard:
		return "only " + rules + ", though completion match reaches 80%"
	}
	return "only " + rules + ", and completion match is below the 80% that it asks for"
}
