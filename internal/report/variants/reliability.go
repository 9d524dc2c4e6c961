package variants

import (
	"fmt"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/replay"
)

// reliability says how far the figures may be believed: what the mode makes of the log, and whether what was found
// is found on supported turns too. Of what may be shipped it says what no metric reads. It is empty where there is
// nothing to say.
func reliability(r *replay.Report) string {
	if v := verdictOf(r); v == failed || v == empty || r.Reliability == "" {
		return ""
	}
	states := text.OneLine(r.States.Words(), maxHeadline)
	said := strings.TrimSpace(text.OneLine(r.Reliability, maxHeadline)+" "+states) + " " + supportedSentence(r)
	if r.Gate != nil && r.Gate.Outcome == replay.Passed && !wordsJudged(r) {
		said = strings.TrimSpace(said) + " " + wordsUnread
	}
	return strings.TrimSpace(said)
}

// warning says what makes the figures doubtful before any of them is read; empty where there is nothing.
func warning(r *replay.Report) string {
	return text.OneLine(text.Capital(r.States.Warning()), maxHeadline)
}

// wordsUnread says what a gate cannot see: states and ends are what an agent tells of itself.
const wordsUnread = "What was said is not judged: a candidate that tells the right states and ends passes with wrong " +
	"words, too. Read some of the sessions."

// supportedSentence compares what the gate saw with the same on supported turns alone: every metric of which the sign
// turns, and of those that are better or worse whether they are so there, too.
func supportedSentence(r *replay.Report) string {
	var same, open, other, leaning []string
	for _, m := range groupsOf(r).first {
		d, on := m.Difference, m.DifferenceOnSupport
		if d == nil || !m.Gated {
			continue
		}
		name := metricLabel(m.Name, r.Run.Mode)
		decided := d.Verdict == string(better) || d.Verdict == string(worse)
		turns := on != nil && d.Mean*on.Mean < 0
		switch {
		case turns && hasDifference(on):
			other = append(other, name)
		case turns:
			leaning = append(leaning, fmt.Sprintf("%s (%s, not %s)", name, change(on.Mean, m.Unit), change(d.Mean,
				m.Unit)))
		case !decided:
		case on == nil || !hasDifference(on):
			open = append(open, name)
		default:
			same = append(same, name)
		}
	}
	var parts []string
	for _, p := range []struct {
		names         []string
		one, together string
	}{
		{same, " comes out the same way", " come out the same way"},
		{other, " comes out the other way", " come out the other way"},
		{leaning, " leans the other way", " lean the other way"},
		{open, " is left open", " are left open"},
	} {
		if len(p.names) > 0 {
			parts = append(parts, listed(p.names)+plural(len(p.names), p.one, p.together))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	where := "On the supported turns alone, "
	if r.Run.Mode == replay.Forced {
		where = "On the turns that both lanes could take, "
	}
	return where + strings.Join(parts, "; ") + "."
}

// hasDifference reports whether an interval leaves no doubt on which side of 0 the difference is.
func hasDifference(d *replay.DifferenceReport) bool {
	return d.Low != nil && *d.Low > 0 || d.High != nil && *d.High < 0
}
