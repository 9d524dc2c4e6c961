package replay

import (
	"math"
	"slices"
)

// guardEnds has the share of completed sessions guard where the log tells of no session how it ended: completion match has nothing to compare with
// there, and an agent that never comes to an end would lose nothing.
func (t *Tally) guardEnds(metrics []metric) {
	if t.lanes[Baseline] == nil || t.ends[EndCompleted]+t.ends[EndDropped] > 0 {
		return
	}
	if m := &metrics[columnOf(CompletedShare)]; m.role == shown {
		m.role, m.margin = guards, fivePoints
	}
}

// endless reports whether the baseline tells when its conversations are complete, and the candidate does not.
func (t *Tally) endless() bool { return t.hides(CompletedShare) }

// stateless reports whether the baseline tells its states, and the candidate does not.
func (t *Tally) stateless() bool { return t.hides(StateProgression) }

// hides reports whether a metric applies to a session of the baseline, and to none of the candidate.
func (t *Tally) hides(metric string) bool {
	tells := func(lane string) bool {
		l := t.lanes[lane]
		return l != nil && slices.ContainsFunc(l.whole[columnOf(metric)], func(x float64) bool { return !math.IsNaN(x) })
	}
	return tells(Baseline) && !tells(Candidate)
}

// hidden lists what the baseline tells and the candidate does not, so that it can lose nothing there. A margin of what is not told accepts that; one of
// completed is as good as one of completion match.
func (f *findings) hidden(rules *Rules) []Reason {
	accepts := func(metrics ...string) bool {
		return slices.ContainsFunc(metrics, func(m string) bool { _, set := rules.Margins[m]; return set })
	}
	var reasons []Reason
	if f.endless && !accepts(CompletedShare, CompletionMatch) {
		reasons = append(reasons, Reason{"power", CompletionMatch, "the baseline tells when a conversation is complete and the candidate does not, so that one " +
			"that never ends would lose nothing: give the target an answer.end or a complete_when, or accept it with --margin completed=100pp"})
	}
	if !accepts(StateProgression) {
		reasons = append(reasons, f.emptyWords()...)
	}
	if f.stateless && !accepts(StateProgression) {
		reasons = append(reasons, Reason{"power", StateProgression, "the baseline tells in what state a conversation is and the candidate does not, so that one " +
			"that answers anything until the end would lose nothing: give the target an answer.node or a state_of, or accept it with --margin state_progression_match=100pp"})
	}
	return reasons
}
