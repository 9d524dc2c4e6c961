package grader

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"rehearse/internal/result"
	"rehearse/internal/runner"
	"rehearse/internal/source"
)

// change is a way in which a turn changes the facts of an agent's memory.
type change struct {
	// verb names the change in a sentence about a turn, such as "facts added".
	verb   string
	wanted []fact
	// of returns the facts that a turn changed in this way.
	of func(d *memoryDelta) []fact
}

type memoryDelta struct {
	Added   []fact `json:"facts_added"`
	Updated []fact `json:"facts_updated"`
	// Stages has the status of each stage of the memory, such as ok or error.
	Stages map[string]string `json:"stages"`
}

// unlearned says why an agent could not learn facts in a turn, or "" where it could: its stage of facts was off or failed.
func unlearned(x *runner.Exchange) string {
	shown, problem := stateOf[struct {
		Delta *memoryDelta `json:"memory_delta"`
	}](x)
	if problem != "" || shown.Delta == nil {
		return ""
	}
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
		{"added", a.facts("add", "facts that the turn must have added: {key, value}, or a key alone"), func(d *memoryDelta) []fact { return d.Added }},
		{"updated", a.facts("update", "facts that the turn must have given another value"), func(d *memoryDelta) []fact { return d.Updated }},
	}
	changes = slices.DeleteFunc(changes, func(c change) bool { return len(c.wanted) == 0 })
	if len(changes) == 0 && !a.node.Has("add") && !a.node.Has("update") {
		a.node.Report("add `add:` or `update:` with a list of {key, value}", "facts needs something to look for")
	}
	return gradeFunc(func(_ context.Context, x *runner.Exchange) (result.Grade, error) {
		g := result.Grade{Score: 1, Code: result.FactDrift}
		var reasons []string
		for _, c := range changes {
			part := c.grade(x)
			g.Assertions = append(g.Assertions, part.Assertions...)
			if part.Score < g.Score {
				if why := unlearned(x); why != "" {
					return result.Grade{}, fmt.Errorf("facts: %s", why)
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

// grade looks for the wanted facts among those that the turn changed or, for a whole conversation, among all live facts.
func (c change) grade(x *runner.Exchange) result.Grade {
	want, got := "facts "+c.verb+": "+factsText(c.wanted), "no fact "+c.verb
	var facts []fact
	var problem string
	if x.Turn == 0 {
		want, got = "live facts: "+factsText(c.wanted), "no live fact"
		facts, problem = liveFacts(x)
	} else {
		facts, problem = c.changed(x)
	}
	if problem != "" {
		return coded(result.FactDrift, want, false, problem)
	}
	if len(facts) > 0 {
		got = factsText(facts)
	}
	for _, w := range c.wanted {
		if !slices.ContainsFunc(facts, w.matches) {
			return coded(result.FactDrift, want, false, "no "+w.String()+": "+got)
		}
	}
	return coded(result.FactDrift, want, true, got)
}

func (c change) changed(x *runner.Exchange) (facts []fact, problem string) {
	shown, problem := stateOf[struct {
		Delta *memoryDelta `json:"memory_delta"`
	}](x)
	switch {
	case problem != "":
		return nil, problem
	case shown.Delta == nil:
		return nil, "the agent does not show how its memory changed"
	}
	return c.of(shown.Delta), ""
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
