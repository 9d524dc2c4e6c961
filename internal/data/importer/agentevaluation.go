package importer

import (
	"fmt"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// Plans of agent-evaluation tell a user what to do, step by step, and say what is expected of the whole.

func fitsAgentEvaluation(root source.Value) bool {
	tests, _ := root.Get("tests")
	for _, f := range tests.Fields {
		return has(f.Value, "steps")
	}
	return false
}

func readAgentEvaluation(r *reader, root source.Value) {
	plan := r.settings(root, "")
	plan.drop("name the judge with --judge, or in rehearse.yaml", "evaluator")
	plan.drop("describe the agent as a target of rehearse.yaml", "target")
	tests := plan.get("tests")
	for _, f := range tests.Fields {
		e := r.entry(f.Value, "test "+f.Name)
		t := &test{id: f.Name}
		var steps []string
		for i, step := range e.list("steps") {
			steps = append(steps, fmt.Sprintf("%d. %s", i+1, scalarText(step)))
		}
		if len(steps) > 0 {
			t.user = pairs{{
				"goal", "Take these steps in this order, then end the conversation:\n" + strings.Join(steps, "\n"),
			}}
			t.user = t.user.with("opening", e.text("initial_prompt"))
			t.user = append(t.user, pair{"max_turns", r.turnLimit(e)})
		}
		for _, wanted := range e.list("expected_results") {
			if text := scalarText(wanted); strings.TrimSpace(text) != "" {
				t.whole = append(t.whole, text)
				r.carry(wanted)
			}
		}
		e.unsupported("no programs are run around a test", "hook")
		e.rest()
		f.Value.Line, f.Value.Column = f.Line, f.Column
		r.add(f.Value, t)
	}
	plan.rest()
}

// turnLimit returns how many messages the user may send; the tool's own limit is 2.
func (r *reader) turnLimit(e *entry) int {
	n, ok := e.number("max_turns")
	if !ok {
		return 2
	}
	if n < 1 || n > 100 || n != float64(int(n)) {
		r.lose(e.lineOf("max_turns"), e.name("max_turns"), "it is no whole number from 1 to 100")
		return 100
	}
	return int(n)
}
