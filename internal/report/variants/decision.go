package variants

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/stats"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// decision is what a run means for whoever must decide.
type decision struct {
	Sign result.Verdict
	// Word says whether to ship.
	Word string
	// Why are the reasons, Unseen the loss that could have gone unnoticed; empty where there is nothing to say.
	Why    []string
	Unseen string
}

// maxReasonText bounds one reason of a gate, maxWhy how many stand at the top.
const (
	maxReasonText = 600
	maxWhy        = 8
)

// decisionOf says whether to ship. Only a finished run that passed says so.
func decisionOf(r *replay.Report) decision {
	d := decision{Sign: signOfRun(r), Word: headline(r)}
	v := verdictOf(r)
	if v == failed || v == empty || r.Gate == nil {
		d.Why = nonEmpty(detail(r))
		return d
	}
	d.Why, d.Unseen = whyOf(r), unseenSentence(r)
	switch {
	case r.Run.Status == replay.Partially:
		d.Word = "Cannot say: the run was broken off"
	case r.Run.Status == replay.Running:
		d.Word = "Cannot say yet: the run goes on"
	case v == twice:
		d.Word = "The same variant twice: what differs is noise"
	case r.Gate.Outcome == replay.Passed && foundWorse(r): // only the specification's gate passes it
		d.Word = "The spec gate passed, although something got worse"
	case r.Gate.Outcome == replay.Passed && wordsJudged(r):
		d.Word = "Ship"
	case r.Gate.Outcome == replay.Passed:
		d.Word = replay.Unjudged
	case r.Gate.Outcome == replay.NotPassed:
		d.Word = "Do not ship"
	case r.Gate.Outcome == replay.NotJudgeable:
		d.Word = "Cannot say: this log cannot judge it"
	default:
		d.Word = "Cannot say"
	}
	return d
}

// wordsJudged reports whether a judge compared the replies.
func wordsJudged(r *replay.Report) bool {
	return r.Replies != nil && r.Replies.Judged()
}

// foundWorse reports whether any metric or guard is worse, in all sessions or in a slice.
func foundWorse(r *replay.Report) bool { return r.Gate != nil && r.Gate.Verdict == stats.Worse }

// unjudged reports whether an undecided run found nothing worse, while no judge compared the replies.
func unjudged(r *replay.Report) bool {
	v := verdictOf(r)
	return r.Gate != nil && v != failed && v != empty && r.Gate.Outcome != replay.Passed &&
		r.Gate.Outcome != replay.NotPassed && !wordsJudged(r) && !foundWorse(r) && len(r.Lists.NewlyLost) == 0
}

// whyOf gives the reasons of the gate as they read; of a gate that was passed it is what was found.
func whyOf(r *replay.Report) []string {
	reasons := r.Gate.Reasons
	why := make([]string, 0, len(reasons)+2)
	for i := range reasons[:min(len(reasons), maxWhy)] {
		why = append(why, reasonSuffix(r, &reasons[i]))
	}
	if left := len(reasons) - maxWhy; left > 0 {
		why = append(why, text.Plural(left, "more reason")+", below at the gate.")
	}
	if len(reasons) == 0 {
		found := detail(r)
		if r.Gate.Name == replay.GateSpec && r.Spec != nil {
			why, found = append(why, text.Capital(specWords(r))+"."),
				"Compared session by session, which does not decide here: "+found
		}
		why = append(why, nonEmpty(found)...)
		if lost := lostPairs(r); lost > 0 {
			why = append(why, lostWords(r)+".")
		}
	}
	if r.Gate.Outcome == replay.NotJudgeable {
		why = append(why, otherModes(r.Run.Mode))
	}
	return why
}

// reasonText is a reason as a sentence. One about a metric begins with its name.
func reasonText(r *replay.Report, reason *replay.Reason) string {
	said := text.OneLine(reason.Text, maxReasonText)
	if rest, ok := strings.CutPrefix(said, reason.Metric); ok && reason.Metric != "" {
		said = metricLabel(reason.Metric, r.Run.Mode) + rest
	}
	return text.Capital(said) + "."
}

// reasonSuffix is a reason where the loss that could have gone unnoticed stands beside it: that is not said twice.
func reasonSuffix(r *replay.Report, reason *replay.Reason) string {
	_, out, has := strings.Cut(reason.Text, "; ")
	if m := unseenMetric(r); reason.Code != "power" || m == nil || m.Name != reason.Metric || !has ||
		!strings.HasPrefix(reason.Text, "a loss of up to") {
		return reasonText(r, reason)
	}
	return "The log is too small to tell: " + text.OneLine(out, maxReasonText) + "."
}

// otherModes says by which replays the question can be answered that this log leaves open.
func otherModes(mode replay.Mode) string {
	if mode == replay.Simulated {
		return "Replay it with --mode recorded or --mode forced, or with another --user."
	}
	return "Replay it with --mode forced or --mode simulated."
}

// unseenSentence says the loss that could have gone unnoticed: that of completion match, else of the first metric that
// decides. It is empty when that one is worse, since then it was noticed.
func unseenSentence(r *replay.Report) string {
	m := unseenMetric(r)
	if m == nil {
		return ""
	}
	if m.Difference != nil && m.Difference.Verdict == string(worse) {
		return ""
	}
	name := metricLabel(m.Name, r.Run.Mode)
	unseen, _ := unseenOf(r, m)
	loss := lossWords(unseen.Loss, m)
	switch {
	case loss != "" && m.Difference != nil && isHarmless(m.Difference):
		return fmt.Sprintf("A loss of up to %s of %s could have gone unnoticed in a run of this size. In this one, "+
			"the interval of the difference, %s, holds no loss beyond the margin.",
			loss, name, intervalOf(m.Difference, m.Unit))
	case loss != "":
		return fmt.Sprintf("A loss of up to %s of %s could have gone unnoticed; %s.", loss, name,
			marginSentence(unseen.Margin, m))
	case m.Difference != nil && isSame(m.Difference):
		return "It is not known what loss of " + name + " could have gone unnoticed: no session differs in it."
	}
	return "No loss of " + name + " would have been noticed, however large."
}

// unseenMetric returns the metric whose unnoticed loss the top of the report names; nil where no metric has one.
func unseenMetric(r *replay.Report) *replay.MetricReport {
	for _, name := range []string{replay.CompletionMatch, replay.CompletedShare} {
		m := metricOf(r, name)
		if _, has := unseenOf(r, m); has {
			return m
		}
	}
	if i := slices.IndexFunc(r.Metrics, func(m replay.MetricReport) bool {
		_, has := unseenOf(r, &m)
		return has
	}); i >= 0 {
		return &r.Metrics[i]
	}
	return nil
}

// isHarmless reports whether a loss beyond the margin is ruled out.
func isHarmless(d *replay.DifferenceReport) bool {
	return d.Verdict == string(better) || d.Verdict == string(nonInferior)
}

// unseenOf returns what could have gone unnoticed in a metric that decides.
func unseenOf(r *replay.Report, m *replay.MetricReport) (replay.Unseen, bool) {
	if m == nil || r.Gate == nil || !m.Gated {
		return replay.Unseen{}, false
	}
	unseen, has := r.Gate.Unseen[m.Name]
	return unseen, has
}

// lossWords writes a loss, which has no sign; empty when it is not known.
func lossWords(loss *float64, m *replay.MetricReport) string {
	if loss == nil || !finite(*loss) {
		return ""
	}
	return amount(*loss, m.Unit)
}

func marginSentence(margin float64, m *replay.MetricReport) string {
	if margin == 0 {
		return "any loss matters"
	}
	return "more than " + amount(margin, m.Unit) + " matters"
}

// amount writes the size of a difference without its sign.
func amount(x float64, unit replay.Unit) string {
	return strings.TrimLeft(change(max(x, -x), unit), "+")
}

// lostPairs counts the pairs of which a lane failed.
func lostPairs(r *replay.Report) int { return r.Lost.Baseline + r.Lost.Candidate + r.Lost.Both }

// lostWords says how many pairs were lost, and in which lane.
func lostWords(r *replay.Report) string {
	n := lostPairs(r)
	said := fmt.Sprintf("%s of %s lost", text.Count(n), text.Plural(n+r.Run.Sessions, "pair"))
	var lanes []string
	for _, lane := range []struct {
		n    int
		name string
	}{{r.Lost.Candidate, "by the candidate"}, {r.Lost.Baseline, "by the baseline"}, {r.Lost.Both, "by both"}} {
		if lane.n > 0 {
			lanes = append(lanes, text.Count(lane.n)+" "+lane.name)
		}
	}
	if len(lanes) > 0 {
		said += ": " + strings.Join(lanes, ", ")
	}
	return said
}

func nonEmpty(said string) []string {
	if said == "" {
		return nil
	}
	return []string{said}
}
