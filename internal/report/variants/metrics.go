package variants

import (
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/replay"
)

// alwaysFirst are the metrics that stand beside those of the gate, also where nothing varies. Without them no other
// figure can be read: how many sessions completed, what data came of it, how like the logged ones the replies are, and
// how far the log carries.
var alwaysFirst = [...]string{replay.CompletedShare, replay.DataAccuracy, replay.ReplySimilarity,
	replay.SupportCoverage}

// metricGroups are the metrics of a report as they are shown.
type metricGroups struct {
	// first are those that decide and guard, with alwaysFirst.
	first []*replay.MetricReport
	// more are the others, as far as they say something; still are those that do not.
	more, still []*replay.MetricReport
}

// groupsOf splits the metrics of a report. Where none is gated, all come first.
func groupsOf(r *replay.Report) (g metricGroups) {
	gated := slices.ContainsFunc(r.Metrics, func(m replay.MetricReport) bool { return m.Gated })
	for i := range r.Metrics[:min(len(r.Metrics), maxMetrics)] {
		switch m := &r.Metrics[i]; {
		case m.Gated || m.Guard || !gated || slices.Contains(alwaysFirst[:], m.Name):
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
