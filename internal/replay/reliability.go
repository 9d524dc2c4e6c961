package replay

import (
	"fmt"
	"strings"
)

// reliability says in one sentence, true of the mode, how far the figures may be believed. It is empty where nothing
// was compared.
func (t *Tally) reliability(r *Report) string {
	if len(t.sessions) == 0 {
		return ""
	}
	switch r.Run.Mode {
	case Forced:
		return "Each logged message was said in its logged state, behind its logged history; " + t.each(
			func(l *variantTally) (int, int) { return l.misses, l.turns },
			"could not be taken by the %s") + "."
	case Simulated:
		said := "A simulated user spoke from the first message on that did not fit: " +
			t.each(func(l *variantTally) (int, int) { return l.simulated.Simulated, l.turns },
				"of the %s are simulated")
		if f := r.Fidelity; f != nil {
			said += fmt.Sprintf("; its likeness to the real users is %.2f, in %d sessions with the logged bot",
				f.Overall, f.Sessions)
		}
		return said + "." + unknownRequests(r)
	}
	var parts []string
	support := t.supportOf()
	for _, lane := range []string{Candidate, Baseline} {
		if c := support[lane]; c != nil {
			parts = append(parts, fmt.Sprintf("%.1f %% of its messages answer what the %s had asked", 100**c, lane))
		}
	}
	if len(parts) == 0 {
		return "The logged user spoke; it is not known which of its messages answer what was asked."
	}
	return "The logged user spoke: " + strings.Join(parts, ", ") + "." + unknownRequests(r)
}

// unknownRequests names the agents that do not tell what they ask for, and says how they can. Fewer messages count as
// supported for them.
func unknownRequests(r *Report) string {
	var lanes []string
	for _, lane := range []struct {
		name  string
		agent *Replayed
	}{{Candidate, &r.Candidate}, {Baseline, r.Baseline}} {
		if lane.agent != nil && lane.agent.RequestsUnknown {
			lanes = append(lanes, "the "+lane.name)
		}
	}
	if len(lanes) == 0 {
		return ""
	}
	return " What " + strings.Join(lanes, " and ") + " asks for in a state is not known, " +
		"which leaves fewer messages supported: name the flow with `flow:` at the target."
}

// each says of both lanes how many of their turns are so.
func (t *Tally) each(of func(*variantTally) (n, turns int), words string) string {
	var parts []string
	for _, lane := range []string{Candidate, Baseline} {
		if l := t.lanes[lane]; l != nil {
			n, turns := of(l)
			parts = append(parts, fmt.Sprintf("%d of %d turns "+words, n, turns, lane))
		}
	}
	return strings.Join(parts, ", ")
}
