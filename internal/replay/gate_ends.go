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
func (t *Tally) endless() bool {
	tells := func(lane string) bool {
		l := t.lanes[lane]
		return l != nil && slices.ContainsFunc(l.whole[columnOf(CompletedShare)], func(x float64) bool { return !math.IsNaN(x) })
	}
	return tells(Baseline) && !tells(Candidate)
}

// endUntold says that nothing tells whether the candidate ever comes to an end. A margin of completed, or of completion match, accepts that.
func (f *findings) endUntold(rules *Rules) []Reason {
	_, completed := rules.Margins[CompletedShare]
	_, match := rules.Margins[CompletionMatch]
	if !f.endless || completed || match {
		return nil
	}
	return []Reason{{"power", CompletionMatch, "the baseline tells when a conversation is complete and the candidate does not, so that one that never ends " +
		"would lose nothing: give the target an answer.end or a complete_when, or accept it with --margin completed=100pp"}}
}
