package grader

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// change is a way in which a turn changes the facts of an agent's memory.
type change struct {
	// verb names the change in a sentence about a turn, such as "facts added".
	verb   string
	wanted []fact
	// made reports whether a turn changed a fact in this way. Was are the live facts of the same key before the turn.
	made func(was []fact, is fact) bool
}

// added is the change of a fact whose key was not live before.
func added(was []fact, _ fact) bool { return len(was) == 0 }

// updated is the change of a fact whose key had other values.
func updated(was []fact, is fact) bool {
	return len(was) > 0 && !slices.ContainsFunc(was, func(f fact) bool { return sameJSON(f.Value, is.Value) })
}

// unlearned says why an agent could not learn facts in a turn, or "" where it could: its stage of facts was off or
// failed.
func unlearned(x *runner.Exchange) string {
	shown, _ := stateOf[struct {
		Delta struct {
			// Stages has the status of each stage of the memory, such as ok or error.
			Stages map[string]string `json:"stages"`
		} `json:"memory_delta"`
	}](x)
	switch shown.Delta.Stages["facts"] {
	case "disabled":
		return "the facts stage of the agent's memory is off: turn it on, or ask this of the reply"
	case "error":
		return "the facts stage of the agent's memory failed: see its warnings and log"
	}
	return ""
}

func newFacts(a *Args) runner.Grader {
	changes := []change{
		{"added", a.facts("add", "facts that the turn must have added: {key, value}, or a key alone"), added},
		{"updated", a.facts("update", "facts that the turn must have given another value"), updated},
	}
	changes = slices.DeleteFunc(changes, func(c change) bool { return len(c.wanted) == 0 })
	if len(changes) == 0 && !a.node.Has("add") && !a.node.Has("update") {
		a.node.Report("add `add:` or `update:` with a list of {key, value}", "facts needs something to look for")
	}
	return gradeFunc(func(_ context.Context, x *runner.Exchange) (result.Grade, error) {
		g := result.Grade{Score: 1, Code: result.FactDrift}
		var reasons []string
		for _, c := range changes {
			part, err := c.grade(x)
			if err != nil {
				return result.Grade{}, err
			}
			g.Assertions = append(g.Assertions, part.Assertions...)
			if part.Score < g.Score {
				if why := unlearned(x); why != "" {
					return result.Grade{}, errors.New(why)
				}
				g.Score = part.Score
			}
			if part.Reason != "" {
				reasons = append(reasons, part.Reason)
			}
		}
		g.Reason = strings.Join(reasons, "; ")
		return g, nil
	})
}

// grade looks for the wanted facts among those that the turn changed or, for a whole conversation, among all live
// facts. The error says why it is not known which those are.
func (c change) grade(x *runner.Exchange) (result.Grade, error) {
	want, got := "facts "+c.verb+": "+factsText(c.wanted), "no fact "+c.verb
	facts, err := liveFacts(x.Reply.State)
	if x.Turn == 0 {
		want, got = "live facts: "+factsText(c.wanted), "no live fact"
	} else if err == nil {
		facts, err = c.changed(x, facts)
	}
	if err != nil {
		return result.Grade{}, err
	}
	if len(facts) > 0 {
		got = factsText(facts)
	}
	for _, w := range c.wanted {
		if !slices.ContainsFunc(facts, w.matches) {
			return coded(result.FactDrift, want, false, "no "+w.String()+": "+got), nil
		}
	}
	return coded(result.FactDrift, want, true, got), nil
}

// changed returns those of the facts after a turn that the turn changed in this way.
func (c change) changed(x *runner.Exchange, after []fact) ([]fact, error) {
	before, err := factsBefore(x)
	if err != nil {
		return nil, fmt.Errorf("before the turn, %w", err)
	}
	known := make(map[string][]fact, len(before))
	for _, f := range before {
		known[f.Key] = append(known[f.Key], f)
	}
	var changed []fact
	for _, f := range after {
		if c.made(known[f.Key], f) {
			changed = append(changed, f)
		}
	}
	return changed, nil
}

// factsBefore returns the live facts before a turn: those that the agent showed with its reply before it or, before the
// first turn, those of the memory with which the test begins.
func factsBefore(x *runner.Exchange) ([]fact, error) {
	if x.Turn > 1 {
		return liveFacts(x.Before)
	}
	var seeded memory
	if len(x.Test.Start.Memory) == 0 {
		return nil, nil
	}
	err := decodeState(x.Test.Start.Memory, &seeded)
	return seeded.live(), err
}

// facts reads a list of {key, value}; a plain text is a key.
func (a *Args) facts(name, doc string) []fact {
	n, ok := a.Node(name, "list of facts", doc, false)
	if !ok {
		return nil
	}
	if n.Kind == source.List && len(n.Items) == 0 {
		n.Report("add {key: …, value: …}", "the list is empty")
	}
	var facts []fact
	for _, item := range n.List() {
		f := readFact(item)
		if item.Kind == source.Map && !item.Has("key") {
			item.Report("write {key: …, value: …}", "a fact needs a key")
		}
		facts = append(facts, f)
	}
	return facts
}
