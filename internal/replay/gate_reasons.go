package replay

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/stats"
	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// worse lists the metrics and guards that are worse.
func (f *findings) worse() []Reason {
	var reasons []Reason
	for _, list := range [][]compared{f.metrics, f.guards} {
		for i := range list {
			if c := &list[i]; c.Verdict == stats.Worse {
				reasons = append(reasons, Reason{"worse", c.name, fmt.Sprintf("%s is worse: %s", c.name, c.loss())})
			}
		}
	}
	for i := range f.slices {
		s := &f.slices[i]
		for _, m := range table {
			if d := s.Metrics[m.name]; d.Verdict == string(stats.Worse) {
				reasons = append(reasons, Reason{"worse", m.name, fmt.Sprintf("%s is worse in %s: %s in %s",
					m.name, s.name(), m.change(d.Mean), text.Plural(s.Sessions, "session"))})
			}
		}
	}
	return reasons
}

// loss says by how much a metric differs, with its interval.
func (c *compared) loss() string {
	low, high := math.Abs(c.Interval[0]), math.Abs(c.Interval[1])
	return fmt.Sprintf("%s, 95 %% interval %s to %s", c.change(c.Mean), c.amount(min(low, high)),
		c.amount(max(low, high)))
}

// change writes by how much a metric differs: "3.1 points lower".
func (m *metric) change(mean float64) string {
	return m.amount(math.Abs(mean)) + " " + either(mean > 0, "higher", "lower")
}

func (f *findings) lostPairs(rules *Rules) []Reason {
	n := f.lost.pairs()
	if n == 0 || f.lost.Share <= rules.MaxLost {
		return nil
	}
	return []Reason{{"lost_pairs", "", fmt.Sprintf("%d of %s lost because a lane failed (%s); at most %.3g %% may be",
		n, text.Plural(n+f.compared, "pair"), f.lost.words(), 100*rules.MaxLost)}}
}

func (l Lost) words() string {
	var parts []string
	for _, lane := range []struct {
		n    int
		name string
	}{{l.Baseline, "baseline"}, {l.Candidate, "candidate"}, {l.Both, "both"}} {
		if lane.n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", lane.name, lane.n))
		}
	}
	return strings.Join(parts, ", ")
}

// unfit says why nothing good can be said from this log.
func (f *findings) unfit(rules *Rules) []Reason {
	var reasons []Reason
	if f.mode == Recorded {
		for _, lane := range []string{Baseline, Candidate} {
			if c := f.support[lane]; c != nil && *c < rules.MinSupport {
				reasons = append(reasons, Reason{"support", "", fmt.Sprintf(
					"only %.1f %% of the logged messages answer what the %s had asked, and %.3g %% are needed", 100**c,
					lane, 100*rules.MinSupport)})
			}
		}
	}
	if f.mode == Simulated && f.fidelity != nil && !(f.fidelity.Overall >= rules.MinFidelity) {
		reasons = append(reasons, Reason{"fidelity", "", fmt.Sprintf(
			"the simulated user is like the real ones to %.2f only, and %.3g is needed", f.fidelity.Overall,
			rules.MinFidelity)})
	}
	return reasons
}

// blind lists the metrics in which a loss beyond the margin could have gone unnoticed, with both ways out.
func (f *findings) blind(rules *Rules) []Reason {
	if why := f.untold(rules); why != nil {
		return why
	}
	if rules.MinPower == 0 {
		return nil
	}
	var reasons []Reason
	for i := range f.metrics {
		if c := &f.metrics[i]; !c.harmless() && !(c.Detectable <= c.marginSize) {
			reasons = append(reasons, Reason{"power", c.name, c.waysOut()})
		}
	}
	return reasons
}

// untold lists why what was compared does not tell how the conversations went.
func (f *findings) untold(rules *Rules) []Reason {
	why := f.censoredEnds(rules)
	if why == nil {
		why = f.untelling(rules)
	}
	return slices.Concat(why, f.openSlices, f.hidden(rules))
}

// censoredEnds gives a reason if too many conversations end while a lane waits for an answer: by endless questions an
// agent would lose nothing otherwise. A margin of completion accepts its share of them.
func (f *findings) censoredEnds(rules *Rules) []Reason {
	most := rules.MaxLost
	for _, name := range []string{CompletionMatch, CompletedShare} {
		most = max(most, rules.Margins[name].Absolute)
	}
	open := f.open
	all := slices.Concat(f.metrics, f.guards)
	if !slices.ContainsFunc(all, func(c compared) bool { return c.name == CompletedShare }) {
		open = max(open, f.censored[Baseline]) // no session is left to compare
	}
	if float64(open) <= most*float64(f.compared) {
		return nil
	}
	remedy := "replay them with --mode simulated"
	if f.mode == Simulated {
		remedy = "replay them with a model as --user"
	}
	return []Reason{{"power", CompletionMatch, fmt.Sprintf(
		"it is not known whether %d of %s would have completed, as a lane waits for an answer that the log does not "+
			"have: %s, or accept it with --margin completed=100pp", open, text.Plural(f.compared, "conversation"),
		remedy)}}
}

// untelling says why no metric tells how the conversations went: states are not compared, and the baseline completes
// too few sessions to lose any. Turns and latency alone would let through an agent that talks of anything.
func (f *findings) untelling(rules *Rules) []Reason {
	if len(f.metrics) == 0 {
		return []Reason{{"power", "", "no metric that decides applies to these sessions"}}
	}
	var ends, states *compared
	told := false // the states tell
	for i := range f.metrics {
		c := &f.metrics[i]
		_, set := rules.Margins[c.name]
		switch {
		case c.name == CompletionMatch, c.name == CompletedShare && f.rescued > 0:
			ends = c
		case set && (c.name == StateProgression || table[columnOf(c.name)].role != decides):
			return nil
		case c.name == StateProgression:
			states = c
			told = c.Baseline > c.marginSize || c.Verdict == stats.Better || rules.MinPower == 0
		}
	}
	switch {
	case ends != nil && f.losable > ends.marginSize:
		return nil
	case told && f.neverEnds(ends, states, rules):
		return []Reason{{"power", CompletionMatch, fmt.Sprintf(
			"the log completes %.1f %% of the sessions and neither lane does, so that a candidate that never comes "+
				"to an end loses nothing: "+
				"compare with a baseline that completes some, or accept it with --margin completion_match=100pp",
			100*f.completable)}}
	case told:
		return nil
	}
	const remedy = "give the target a state_of or a complete_when, or let another metric decide with --margin"
	if states == nil && ends == nil {
		return []Reason{{
			"power", "", "neither the states nor the ends of the conversations could be compared: " + remedy,
		}}
	}
	var reasons []Reason
	if states != nil {
		reasons = append(reasons, Reason{"power", StateProgression, fmt.Sprintf(
			"the baseline itself follows only %.1f %% of the logged states, so that a loss of more than %s cannot "+
				"be seen: "+
				"compare with a baseline that follows the log, or let another metric decide with --margin",
			100*states.Baseline, states.amount(states.marginSize))})
	}
	if ends != nil {
		said := fmt.Sprintf("the baseline itself completes only %.1f %% of the sessions as the log did, "+
			"so that a loss of more than %s cannot be seen", 100*f.losable, ends.amount(ends.marginSize))
		if states == nil {
			said = "the states could not be compared, and " + said + ": " + remedy
		}
		reasons = append(reasons, Reason{"power", CompletionMatch, said})
	}
	return reasons
}

// neverEnds reports whether two lanes that differ complete next to nothing of a log that does: then not even their
// states tell whether the candidate gets anywhere. A lane beside itself is no other one.
func (f *findings) neverEnds(ends, states *compared, rules *Rules) bool {
	if _, set := rules.Margins[CompletionMatch]; ends == nil || set || rules.MinPower == 0 {
		return false
	}
	return f.completable > ends.marginSize && ends.Verdict != stats.Better && (ends.Varies || states.Varies)
}

// waysOut says what could have gone unnoticed, about how many sessions would decide it, and the smallest margin that
// this log can decide.
func (c *compared) waysOut() string {
	if math.IsInf(c.Detectable, 0) || math.IsNaN(c.Detectable) {
		return fmt.Sprintf("%s: %s are too few to say anything", c.name, text.Plural(c.Clusters, "independent session"))
	}
	said := fmt.Sprintf("%s, and %s matters", c.unnoticedLoss(c.Detectable), c.marginPhrase())
	out := fmt.Sprintf("take --margin %s=%s", c.name, c.asMargin(c.Detectable))
	if n := c.sessionsFor(c.marginSize); n > c.N {
		out = fmt.Sprintf("about %s sessions would decide it, or %s", text.Count(n), out)
	}
	return said + "; " + out
}

func (c *compared) unnoticedLoss(loss float64) string {
	return fmt.Sprintf("a loss of up to %s of %s could have gone unnoticed", c.amount(loss), plainName(c.name))
}

func (c *compared) marginPhrase() string {
	if c.marginSize == 0 {
		return "any loss"
	}
	return "more than " + c.amount(c.marginSize)
}

// sessionsFor is about how many sessions would find a loss of a size, 0 when that is not known.
func (c *compared) sessionsFor(loss float64) int {
	if loss <= 0 || c.Clusters == 0 {
		return 0
	}
	return int(math.Ceil(float64(c.UnitsFor(loss)) * float64(c.N) / float64(c.Clusters)))
}

// notShown lists what the requirement asks for and is not shown.
func (f *findings) notShown(rules *Rules, verdict stats.Verdict) []Reason {
	if rules.Require == NotWorse {
		return nil
	}
	var reasons []Reason
	for i := range f.metrics {
		if c := &f.metrics[i]; !c.harmless() {
			reasons = append(reasons, Reason{
				"not_shown", c.name,
				fmt.Sprintf("%s is not shown to be non-inferior, as --require %s asks", c.name, rules.Require),
			})
		}
	}
	if len(reasons) == 0 && rules.Require == Better && verdict != stats.Better {
		reasons = append(reasons, Reason{
			"not_shown", "", "the candidate is not shown to be better, as --require better asks",
		})
	}
	return reasons
}
