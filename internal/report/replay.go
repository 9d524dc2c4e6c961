package report

import (
	"encoding/json"
	"io"

	"rehearse/internal/replay"
	"rehearse/internal/result"
	"rehearse/internal/stats"
	"rehearse/internal/text"
)

// ReplayJSON writes the whole report of a replay run as indented JSON. Texts stay as they are: nothing is escaped for HTML.
func ReplayJSON(w io.Writer, r *replay.Report) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// replayVerdict is how a replay run came out, all metrics taken together. Beside the verdicts of a comparison there are those of a run
// without one.
type replayVerdict string

const (
	replayBetter      = replayVerdict(stats.Better)
	replayNonInferior = replayVerdict(stats.NonInferior)
	replayWorse       = replayVerdict(stats.Worse)
	replayUndecided   = replayVerdict(stats.Inconclusive)
	replayTwice       = replayVerdict("twice")  // the same variant in both lanes
	replayAlone       = replayVerdict("alone")  // there was no baseline
	replayEmpty       = replayVerdict("empty")  // no session was compared
	replayFailed      = replayVerdict("failed") // nothing can be said
)

func replayVerdictOf(r *replay.Report) replayVerdict {
	switch verdict := replayVerdict(r.Run.Verdict); {
	case r.Run.Status == replay.Failed:
		return replayFailed
	case r.Run.Sessions == 0:
		return replayEmpty
	case r.AA:
		return replayTwice
	case r.Baseline == nil:
		return replayAlone
	case verdict == replayBetter, verdict == replayNonInferior, verdict == replayWorse:
		return verdict
	}
	return replayUndecided
}

// sign is the verdict as that of a test, for what marks both: an icon, a colour.
func (v replayVerdict) sign() result.Verdict {
	switch v {
	case replayBetter, replayNonInferior:
		return result.Pass
	case replayWorse:
		return result.Fail
	case replayFailed:
		return result.Error
	}
	return result.Skip
}

// emoji is the verdict's sign in Markdown.
func (v replayVerdict) emoji() string {
	if s := v.sign(); s != result.Skip {
		return emoji(s)
	}
	return "➖"
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

// dropReasons counts the reasons among the sessions of the report, the most frequent first, and how many dropped sessions it does not hold.
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
