package replay

import (
	"fmt"
	"math"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// concealment is a metric that is known of the baseline in more sessions than of the candidate.
type concealment struct {
	*metric
	sessions int // those in which only the baseline's is known
	of       int // the sessions in which the baseline's is known
}

// concealed lists the metrics that decide or guard and are known of the baseline and not of the candidate in more than
// a share of the sessions: a candidate that does not report what it costs would cost nothing. A baseline that costs
// nothing has no cost to compare with.
func (t *Tally) concealed(metrics []metric, most float64) []concealment {
	var all []concealment
	for i := range metrics {
		m := &metrics[i]
		if m.role == shown {
			continue
		}
		was := t.knownIn(Baseline, i)
		if m.unit == USD && was > 0 && *meanOf(t.lanes[Baseline].whole[i]) == 0 {
			continue
		}
		if hidden := t.knownInBaselineOnly(i); hidden > 0 &&
			(t.knownIn(Candidate, i) == 0 || float64(hidden) > most*float64(was)) {
			all = append(all, concealment{m, hidden, was})
		}
	}
	return all
}

// knownInBaselineOnly counts the sessions in which the metric in a column is known of the baseline and not of the
// candidate.
func (t *Tally) knownInBaselineOnly(column int) int {
	n := 0
	baseline, candidate := t.lanes[Baseline], t.lanes[Candidate]
	if baseline == nil {
		return 0
	}
	for i, x := range baseline.whole[column] {
		if !math.IsNaN(x) && (candidate == nil || math.IsNaN(candidate.whole[column][i])) {
			n++
		}
	}
	return n
}

// knownIn counts the sessions in which the metric in a column is known of a lane.
func (t *Tally) knownIn(lane string, column int) int {
	n := 0
	if l := t.lanes[lane]; l != nil {
		for _, x := range l.whole[column] {
			if !math.IsNaN(x) {
				n++
			}
		}
	}
	return n
}

// oneSided notes the metrics of the gate that are known of one lane only, so that they are not compared.
func (t *Tally) oneSided(metrics []metric) []Note {
	var notes []Note
	for i := range metrics {
		m := &metrics[i]
		was, is := t.knownIn(Baseline, i), t.knownIn(Candidate, i)
		if m.role == shown || t.lanes[Baseline] == nil || (was > 0) == (is > 0) {
			continue
		}
		lane := Baseline
		if is > 0 {
			lane = Candidate
		}
		notes = append(notes, Note{Text: fmt.Sprintf("%s is not compared: it is known of the %s only", m.name, lane)})
	}
	return notes
}

// conceals reports whether a metric is known of the baseline only.
func (f *findings) conceals(metric string) bool {
	return slices.ContainsFunc(f.concealed, func(c concealment) bool { return c.name == metric })
}

// hidden returns a reason for each metric that the baseline reports and the candidate does not, since no loss of it can
// be seen. A margin of that metric accepts it.
func (f *findings) hidden(rules *Rules) []Reason {
	var reasons []Reason
	if f.conceals(CompletedShare) && f.censored[Candidate] == 0 && !rules.accepts(CompletedShare) {
		reasons = append(reasons, Reason{
			"power", CompletionMatch,
			"the baseline tells when a conversation is complete and the candidate does not, so that one " +
				"that never ends would lose nothing: give the target an answer.end or a complete_when, " +
				"or accept it with --margin completed=100pp",
		})
	}
	if !rules.accepts(StateProgression) {
		reasons = append(reasons, f.emptyWords()...)
	}
	if f.conceals(StateProgression) && !rules.accepts(StateProgression) {
		reasons = append(reasons, Reason{
			"power", StateProgression,
			"the baseline tells in what state a conversation is and the candidate does not, so that one " +
				"that answers anything until the end would lose nothing: give the target an answer.node or a " +
				"state_of, or accept it with --margin state_progression_match=100pp",
		})
	}
	if p := f.preferences; p.swayed() {
		reasons = append(reasons, Reason{"power", ReplyWinRate, fmt.Sprintf(
			"the judge's preference depends on the order of the replies in %d of %s: use another --judge", p.ByOrder,
			text.Plural(p.Wins+p.Losses+p.Ties-p.Same, "comparison"))})
	}
	for i := range f.concealed {
		c := &f.concealed[i]
		switch c.name {
		case CompletionMatch, CompletedShare, EndedEarly, StateProgression: // as above
			continue
		}
		if c.name == ReplyWinRate {
			reasons = append(reasons, Reason{"power", c.name, fmt.Sprintf(
				"the judge gave no verdict on the replies in %d of %s: "+
					"see why in the sessions, and use another --judge", c.sessions, text.Plural(c.of, "session"))})
			continue
		}
		if !rules.accepts(c.name) {
			reasons = append(reasons, Reason{"power", c.name, fmt.Sprintf(
				"%s is known of the baseline and not of the candidate in %d of %s, "+
					"so that no loss of it could be seen there: "+
					"report it, or accept it with --margin %s=%s",
				c.name, c.sessions, text.Plural(c.of, "session"), c.name, c.marginOf())})
		}
	}
	return reasons
}

// accepts reports whether a margin of the user's own accepts that a metric is not reported. One of completion match
// accepts it for completed, too.
func (r *Rules) accepts(metric string) bool {
	_, set := r.Margins[metric]
	if _, match := r.Margins[CompletionMatch]; metric == CompletedShare {
		set = set || match
	}
	return set
}

// marginOf is a margin that accepts any loss of a metric, or asks for no certain one where it has no range.
func (m *metric) marginOf() string {
	if m.unit == Share {
		return "100pp"
	}
	return "100%"
}
