package lanes

import (
	"strings"

	"rehearse/internal/replay"
	"rehearse/internal/text"
)

// Shares of supported turns between which a log says something, but not all; and how many sessions are hardly enough for anything.
const (
	littleSupport = 0.5
	muchSupport   = 0.9
	fewSessions   = 10
)

// beliefSentence says how far the figures may be believed: how many turns are supported, and whether what was found is found on them too.
// It is empty where there is nothing to say.
func beliefSentence(r *replay.Report) string {
	if r.Belief != "" {
		return strings.TrimSpace(text.OneLine(r.Belief, maxHeadline) + " " + supportedSentence(r))
	}
	c := r.Run.SupportCoverage
	if c == nil || !finite(*c) || r.Run.Status == replay.Failed || r.Run.Sessions == 0 {
		return ""
	}
	answer, of := "As far as the log carries: ", quantity(*c, replay.Share)+" of the turns are supported"
	misfits := "; in the others the logged message answers a question that the candidate did not ask."
	switch {
	case *c < littleSupport:
		answer, of = "With care: ", "only "+of+misfits
	case *c < muchSupport:
		of += misfits
	default:
		answer, of = "Yes: ", of+", so nearly every logged message answers what the candidate asked."
	}
	if n := r.Run.Sessions; n < fewSessions {
		answer = "With care: " + text.Plural(n, "session") + plural(n, " is", " are") + " too few to say much, and "
	}
	of = answer + of
	if r.AA {
		return of
	}
	return strings.TrimSpace(of + " " + supportedSentence(r))
}

// supportedSentence says of the metrics that are better or worse whether they are so on the supported turns alone.
func supportedSentence(r *replay.Report) string {
	var same, open, other []string
	for _, m := range groupsOf(r).first {
		d := m.Difference
		if d == nil || d.Verdict != string(better) && d.Verdict != string(worse) {
			continue
		}
		name := metricLabel(m.Name, r.Run.Mode)
		switch on := m.DifferenceOnSupport; {
		case on == nil || !isTold(on):
			open = append(open, name)
		case on.Mean > 0 == (d.Mean > 0):
			same = append(same, name)
		default:
			other = append(other, name)
		}
	}
	var parts []string
	if len(same) > 0 {
		parts = append(parts, listed(same)+plural(len(same), " comes", " come")+" out the same way")
	}
	if len(other) > 0 {
		parts = append(parts, listed(other)+plural(len(other), " comes", " come")+" out the other way")
	}
	if len(open) > 0 {
		parts = append(parts, listed(open)+plural(len(open), " is", " are")+" left open")
	}
	if len(parts) == 0 {
		return ""
	}
	return "On the supported turns alone, " + strings.Join(parts, "; ") + "."
}

// isTold reports whether an interval leaves no doubt on which side of 0 the difference is.
func isTold(d *replay.DifferenceReport) bool {
	return d.Low != nil && *d.Low > 0 || d.High != nil && *d.High < 0
}
