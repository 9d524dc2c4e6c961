package replay

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/stats"
	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// headline is the line by which a run is known: the outcome, each reason, what became of conversations, and what could
// have gone unseen.
func (f *findings) headline(g *Gate) string {
	parts := make([]string, 0, len(g.Reasons)+2)
	for _, r := range g.Reasons {
		parts = append(parts, r.Text)
	}
	begin := ""
	switch g.Outcome {
	case Passed:
		begin = "Passed"
	case NotPassed:
		begin = "Not passed"
	case Underpowered:
		begin = "Cannot say"
	case NotJudgeable:
		begin, parts = "Cannot be judged from this log", append(parts, f.otherModes())
	}
	parts = append(parts, f.facts(g.Outcome == Passed && !f.preferences.Judged())...)
	if g.Outcome == Passed {
		parts = append(parts, f.found(g.Verdict))
		if !slices.ContainsFunc(f.metrics, func(c compared) bool { return c.name == StateProgression }) {
			parts = append(parts, "no states could be compared, so that what was said before the end was not")
		}
		if n := f.lost.pairs(); n > 0 {
			parts = append(parts, fmt.Sprintf("%d of %d pairs lost", n, n+f.compared))
		}
	}
	if unseen := f.unseenWords(g); unseen != "" {
		parts = append(parts, unseen)
	}
	return begin + ": " + strings.Join(parts, "; ")
}

// Unjudged is what a run comes to that finds nothing worse, where no judge compared the replies.
const Unjudged = "No regression in behavior; replies were not judged"

// maxNewlyLost is how many newly lost sessions a headline names, maxNamed the bytes of a name.
const (
	maxNewlyLost = 5
	maxNamed     = 60
)

// facts are those of every headline: that the replies were not judged, if so, and which conversations were rescued,
// newly lost or censored.
func (f *findings) facts(unjudged bool) []string {
	var facts []string
	if unjudged {
		facts = append(facts, Unjudged)
	}
	switch n := len(f.newlyLost); {
	case f.rescued > 0:
		facts = append(facts, fmt.Sprintf("%s that %s dropped %s completed, 0 newly lost",
			text.Plural(f.rescued, "conversation"), either(f.rescued == 1, "was", "were"),
			either(f.rescued == 1, "is", "are")))
	case n > 0:
		names := make([]string, 0, maxNewlyLost)
		for _, id := range f.newlyLost[:min(n, maxNewlyLost)] {
			names = append(names, text.OneLine(line(id), maxNamed))
		}
		more := ""
		if n > maxNewlyLost {
			more = fmt.Sprintf(" and %d more", n-maxNewlyLost)
		}
		facts = append(facts, fmt.Sprintf("%d newly lost %s (%s%s)", n,
			either(n == 1, "conversation", "conversations"), strings.Join(names, ", "), more))
	}
	for _, lane := range []string{Candidate, Baseline} {
		if n := f.censored[lane]; n > 0 {
			facts = append(facts, fmt.Sprintf("%s ended while the %s still waited for an answer",
				text.Plural(n, "conversation"), lane))
		}
	}
	return facts
}

func (f *findings) found(verdict stats.Verdict) string {
	switch verdict {
	case stats.Better:
		var names []string
		for i := range f.metrics {
			if f.metrics[i].Verdict == stats.Better {
				names = append(names, f.metrics[i].name)
			}
		}
		return "the candidate is better in " + strings.Join(names, ", ")
	case stats.NonInferior:
		return "the candidate is no worse than the baseline, within the margins"
	}
	return "no metric is worse"
}

func (f *findings) otherModes() string {
	if f.mode == Simulated {
		return "replay it with --mode recorded or --mode forced, or with another --user"
	}
	return "replay it with --mode forced or --mode simulated"
}

// unseenWords says the loss of completion match, or else of the first metric that decides, which could have gone
// unnoticed. It is empty when that metric is worse, and where a reason has said it.
func (f *findings) unseenWords(g *Gate) string {
	for i := range f.metrics {
		c := &f.metrics[i]
		if c.name != CompletionMatch && g.hasUnseen(CompletionMatch) ||
			c.name != CompletedShare && f.rescued > 0 {
			continue
		}
		loss := g.Unseen[c.name].Loss
		switch {
		case c.Verdict == stats.Worse, g.gives("power", c.name):
			return ""
		case loss == nil:
			return "no loss of " + plainName(c.name) + " would have been noticed"
		}
		return c.unnoticedLoss(*loss)
	}
	return ""
}

func (g *Gate) hasUnseen(metric string) bool {
	_, has := g.Unseen[metric]
	return has
}

// gives reports whether a reason of that code is about the metric.
func (g *Gate) gives(code, metric string) bool {
	return slices.ContainsFunc(g.Reasons, func(r Reason) bool { return r.Code == code && r.Metric == metric })
}

// plainName is a metric's name in a sentence.
func plainName(metric string) string { return strings.ReplaceAll(metric, "_", " ") }

// hearing counts the turns of a lane for which the log is in another state than before in the session, and those of
// them that the lane has no words for: it repeats what it has said for another logged state, or what the user says.
type hearing struct{ moves, empty int }

// mostlyEmpty is the share of such turns above which the states of a lane are not believed.
const mostlyEmpty = 0.5

// hear counts the turns of a lane beside the logged ones. States are what an agent says of itself, so that one that
// guesses them, or always tells the commonest, could follow the log and answer anything.
func (h *hearing) hear(lane, observed *Variation) {
	if lane.NoStates || observed == nil {
		return
	}
	moved := false
	stateOf := make(map[string]string, len(lane.Turns)) // the logged one, by the words that the lane said first for it
	for i := range min(len(lane.Turns), len(observed.Turns)) {
		t, logged := &lane.Turns[i], observed.Turns[i].State
		words := strings.TrimSpace(t.Bot)
		moved = moved || logged != observed.Turns[0].State
		if words == "" || t.Invented { // not taken, a call of a tool, or a guard's to find; or the log is left
			continue
		}
		where, said := stateOf[words]
		if !said {
			stateOf[words] = logged
		}
		if !moved {
			continue
		}
		if h.moves++; said && where != logged || words == strings.TrimSpace(t.User) {
			h.empty++
		}
	}
}

func (h hearing) share() float64 { return float64(h.empty) / float64(max(h.moves, 1)) }

// emptyWords says that the words of the candidate do not bear out its states, where those of the baseline do.
func (f *findings) emptyWords() []Reason {
	is, was := f.heard[Candidate].share(), f.heard[Baseline].share()
	if is <= mostlyEmpty || was > mostlyEmpty {
		return nil
	}
	return []Reason{{"power", StateProgression, fmt.Sprintf(
		"the candidate repeats itself or the user in %.1f %% of the turns in which the log goes on to another state "+
			"(the baseline in %.1f %%), so that its words do "+
			"not bear out the states that it tells: read the sessions, "+
			"or accept it with --margin state_progression_match=100pp", 100*is, 100*was)}}
}
