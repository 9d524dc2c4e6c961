package datasetimport

import (
	"maps"
	"slices"
	"strings"
)

// Plans of agent-evaluation have steps, which tell a user what to do, and what is expected of all of them.

func isAgentEvaluation(root any) bool {
	for _, v := range mapping(mapping(root)["tests"]) {
		return list(mapping(v)["steps"]) != nil
	}
	return false
}

func readAgentEvaluation(f *file, root any) (all []conversation) {
	plan := mapping(root)
	f.rest(plan, "tests")
	tests := mapping(plan["tests"])
	for _, name := range slices.Sorted(maps.Keys(tests)) {
		test := mapping(tests[name])
		f.rest(map[string]any{"initial_prompt": test["initial_prompt"], "max_turns": test["max_turns"]})
		c := conversation{name: name}
		for _, step := range list(test["steps"]) {
			c.turns = append(c.turns, turn{query: text(step)})
		}
		var wanted []string
		for _, v := range list(test["expected_results"]) {
			wanted = append(wanted, text(v))
		}
		if n := len(c.turns); n > 0 && len(wanted) > 0 {
			c.turns[n-1].expected = map[string]any{"response": strings.Join(wanted, "\n")}
		}
		if n := len(c.turns); n > 0 {
			f.checks(&c.turns[n-1], test, "steps", "expected_results", "initial_prompt", "max_turns")
		}
		all = append(all, c)
	}
	return all
}
