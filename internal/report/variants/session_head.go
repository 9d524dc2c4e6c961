package variants

import (
	"slices"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/replay"
	"github.com/rehearse-dev/rehearse/internal/report/document"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// pairHead is the line of a session on the page.
type pairHead struct {
	// Anchor is where the page shows it.
	Anchor string
	// Kind says in a word how the candidate did beside the log: same, path, mute, end or out. Differs is whether the
	// two replays differ.
	Kind     string
	Differs  bool
	Open     bool
	Sign     result.Verdict
	Meaning  string // what the sign means
	ID       string
	About    string
	Variants []variantFact
	// Turn is where the candidate first left the log's path, or says that it did not.
	Turn    string
	Dropped string
}

// variantFact is a lane in the line of a session.
type variantFact struct {
	Name  string
	Sign  result.Verdict
	Ended string
	About string
}

func pairHeadOf(p *replay.Pair) pairHead {
	h := pairHead{ID: text.OneLine(p.SessionID, 120), About: outcomeWord(p.Outcome), Dropped: text.OneLine(p.Dropped,
		maxReason)}
	if !p.Started.IsZero() {
		h.About += " · " + p.Started.UTC().Format("2006-01-02 15:04")
	}
	lanes := variationsOf(p)
	logCompleted := p.Outcome == "completed"
	for _, l := range lanes {
		f := variantFact{
			Name: variantWord(l.Name), Sign: result.Pass, Ended: "completed", About: text.Plural(len(l.Turns),
				"turn"),
		}
		switch {
		case l.Name == replay.Observed && !isKnown(p.Outcome):
			f.Sign, f.Ended = result.Skip, "unknown end"
		case l.Error != "":
			f.Sign, f.Ended = result.Error, "failed"
		case l.Endless:
			f.Sign, f.Ended = result.Skip, "end not told"
		case l.Censored:
			f.Sign, f.Ended = result.Skip, waitedWords
		case !l.Completed:
			if f.Sign, f.Ended = result.Skip, "not completed"; logCompleted {
				f.Sign = result.Fail
			}
		}
		if l.Metrics != nil && l.Metrics.StateProgression != nil {
			f.About += " · states " + quantity(*l.Metrics.StateProgression, replay.Share)
		}
		h.Variants = append(h.Variants, f)
	}
	h.Differs = variationsDiffer(p.Variation(replay.Baseline), p.Variation(replay.Candidate))
	h.kind(p)
	return h
}

// kind says how the candidate did beside the log.
func (h *pairHead) kind(p *replay.Pair) {
	observed, candidate := p.Variation(replay.Observed), p.Variation(replay.Candidate)
	if p.Dropped != "" || candidate == nil {
		h.Kind, h.Sign, h.Meaning, h.Turn, h.Differs = "out", result.Skip, "left out", "left out", false
		return
	}
	left := candidate.Metrics != nil && candidate.Metrics.FirstDivergence != nil
	known := isKnown(p.Outcome)
	h.Turn = "same path"
	switch {
	case candidate.NoStates:
		h.Turn = "path not told"
	case left:
		h.Turn = "other path from turn " + text.Count(*candidate.Metrics.FirstDivergence)
		if p.Mode == replay.Forced {
			h.Turn = "other state first in turn " + text.Count(*candidate.Metrics.FirstDivergence)
		}
	}
	known = known && !candidate.Endless && !candidate.Censored
	switch ended := observed != nil && known && observed.Completed != candidate.Completed; {
	case ended && observed.Completed:
		h.Kind, h.Sign, h.Meaning = "end", result.Fail, "the candidate did not complete what the log did"
	case ended:
		h.Kind, h.Sign, h.Meaning = "end", result.Error, "the candidate completed what the log did not"
	case candidate.Metrics != nil && candidate.Metrics.Answered != nil && *candidate.Metrics.Answered < 1:
		h.Kind, h.Sign, h.Meaning = "mute", result.Error, "a message got no answer"
	case left:
		h.Kind, h.Sign, h.Meaning = "path", result.Error, "another path than in the log"
	case candidate.Censored:
		h.Kind, h.Sign, h.Meaning = "open", result.Skip, "the candidate waits for an answer that the log does not have"
	case candidate.NoStates || candidate.Endless:
		h.Kind, h.Sign, h.Meaning = "same", result.Skip, "what the agent tells is as in the log"
	default:
		h.Kind, h.Sign, h.Meaning = "same", result.Pass, "as in the log"
	}
}

// isKnown reports whether it is known how a session ended.
func isKnown(outcome string) bool { return outcome != replay.EndUnknown && outcome != "" }

// variationsDiffer reports whether two replays of a session went through other states or ended otherwise, as far as
// both tell.
func variationsDiffer(a, b *replay.Variation) bool {
	if a == nil || b == nil {
		return false
	}
	if !a.Endless && !b.Endless && !a.Censored && !b.Censored && a.Completed != b.Completed {
		return true
	}
	return !a.NoStates && !b.NoStates && !slices.EqualFunc(a.Turns, b.Turns, func(x,
		y replay.VariationTurn) bool {
		return x.State == y.State
	})
}

// filtersOf counts the sessions of each kind. All of one kind need no filter.
func filtersOf(heads []pairHead) (filters []document.Filter) {
	counts := map[string]int{}
	for i := range heads {
		counts[heads[i].Kind]++
		if heads[i].Differs {
			counts["differ"]++
		}
	}
	filters = append(filters, document.Filter{ID: "all", Label: "All", Count: len(heads)})
	for _, f := range []document.Filter{
		{ID: "differ", Label: "Candidate and baseline differ", Count: counts["differ"]},
		{ID: "end", Label: "Ended otherwise", Count: counts["end"]},
		{ID: "mute", Label: "A message got no answer", Count: counts["mute"]},
		{ID: "path", Label: "Other path, same end", Count: counts["path"]},
		{ID: "open", Label: "Waits for an answer", Count: counts["open"]},
		{ID: "same", Label: "As in the log", Count: counts["same"]},
		{ID: "out", Label: "Left out", Count: counts["out"]},
	} {
		if f.Count > 0 {
			filters = append(filters, f)
		}
	}
	if len(filters) <= 2 {
		return nil
	}
	return filters
}
