// Package variants renders the report of a replay run, whose lanes stand side by side: for the terminal, a pull request
// and the browser, and as JSON.
package variants

import (
	"encoding/json"
	"io"

	"github.com/rehearse-dev/rehearse/internal/base/stats"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// JSON writes the whole report of a replay run as indented JSON. Texts stay as they are: nothing is escaped for HTML.
func JSON(w io.Writer, r *replay.Report) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// verdict is how a replay run came out, all metrics taken together. Beside the verdicts of a comparison there are those
// of a run without one.
type verdict string

const (
	better      = verdict(stats.Better)
	nonInferior = verdict(stats.NonInferior)
	worse       = verdict(stats.Worse)
	undecided   = verdict(stats.Inconclusive)
	twice       = verdict("twice")  // the same variant in both lanes
	alone       = verdict("alone")  // there was no baseline
	empty       = verdict("empty")  // no session was compared
	failed      = verdict("failed") // nothing can be said
)

func verdictOf(r *replay.Report) verdict {
	switch verdict := verdict(r.Run.Verdict); {
	case r.Run.Status == replay.Failed:
		return failed
	case r.Run.Sessions == 0:
		return empty
	case r.AA:
		return twice
	case r.Baseline == nil:
		return alone
	case verdict == better, verdict == nonInferior, verdict == worse:
		return verdict
	}
	return undecided
}

// signOfRun is how a run came out, for what marks it: an icon, a colour. A gate's outcome decides where there is one; a
// run that has not come to its end has not passed.
func signOfRun(r *replay.Report) result.Verdict {
	v := verdictOf(r)
	if r.Gate == nil || v == failed || v == empty {
		return v.sign()
	}
	if r.Gate.Outcome == replay.Passed && unfinished(r) != "" {
		return result.Error
	}
	return signOfOutcome(r.Gate.Outcome)
}

func signOfOutcome(d replay.Decision) result.Verdict {
	switch d {
	case replay.Passed:
		return result.Pass
	case replay.NotPassed:
		return result.Fail
	}
	return result.Error
}

// verdictSign is the sign of one metric's verdict.
func verdictSign(name string) result.Verdict { return verdict(name).sign() }

// sign is the verdict as that of a test, for what marks both: an icon, a colour.
func (v verdict) sign() result.Verdict {
	switch v {
	case better, nonInferior:
		return result.Pass
	case worse:
		return result.Fail
	case failed:
		return result.Error
	}
	return result.Skip
}

// metricOf returns the report of a metric, nil when there is none.
func metricOf(r *replay.Report, name string) *replay.MetricReport {
	for i := range r.Metrics {
		if r.Metrics[i].Name == name {
			return &r.Metrics[i]
		}
	}
	return nil
}

// dropReason is why sessions were left out, and how many for that reason.
type dropReason struct {
	Text     string
	Sessions int
}

// dropReasons counts the reasons among the sessions of the report, the most frequent first, and how many dropped
// sessions it does not hold.
func dropReasons(r *replay.Report) (reasons []dropReason, untold int) {
	at, told := map[string]int{}, 0
	for i := range r.Sessions {
		said := text.OneLine(r.Sessions[i].Dropped, maxReason)
		if said == "" {
			continue
		}
		told++
		if _, known := at[said]; !known {
			at[said] = len(reasons)
			reasons = append(reasons, dropReason{Text: said})
		}
		reasons[at[said]].Sessions++
	}
	byCount(reasons, func(d dropReason) int { return d.Sessions })
	return reasons, max(r.Run.PairsDropped-told, 0)
}
