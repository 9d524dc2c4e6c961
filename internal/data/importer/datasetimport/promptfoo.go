package datasetimport

import "strings"

// A promptfoo configuration has tests whose variables are the message, or a whole _conversation of inputs and outputs.

func isPromptfoo(root any) bool {
	m := mapping(root)
	return list(m["tests"]) != nil && (m["prompts"] != nil || m["providers"] != nil)
}

func readPromptfoo(f *file, root any) (all []conversation) {
	m := mapping(root)
	f.rest(m, "description", "tests", "defaultTest")
	for i, v := range list(m["tests"]) {
		test := mapping(v)
		c := conversation{name: numbered(strings.ReplaceAll(text(test["description"]), " ", "-"), i)}
		vars := mapping(test["vars"])
		for _, v := range list(vars["_conversation"]) {
			said := mapping(v)
			f.rest(said, "input", "output")
			c.turns = append(c.turns, turn{query: text(said["input"]), answer: text(said["output"])})
		}
		taken := ""
		for _, name := range []string{"message", "query", "question", "input", "prompt"} {
			if said := text(vars[name]); said != "" {
				c.turns, taken = append(c.turns, turn{query: said}), name
				break
			}
		}
		f.rest(vars, "_conversation", taken)
		if n := len(c.turns); n > 0 {
			last := &c.turns[n-1]
			wanted(f, last, list(test["assert"]))
			f.rest(map[string]any{"metadata": test["metadata"], "provider": test["provider"]})
			f.checks(last, test, "description", "vars", "assert", "metadata", "provider")
			f.checks(last, map[string]any{"defaultTest": m["defaultTest"]})
		} else {
			f.lose("tests without a message of a user", 1)
		}
		all = append(all, c)
	}
	return all
}

// wanted takes over the assertions that a suite has, too: texts to be found, and what a model is to judge. A key that
// they have besides their value may change what they mean.
func wanted(f *file, t *turn, asserted []any) {
	names := map[string]string{"contains": "contains", "icontains": "icontains", "equals": "equals", "regex": "regex"}
	var response []string
	var assertions, lost []any
	for _, v := range asserted {
		a := mapping(v)
		kind, value := text(a["type"]), text(a["value"])
		switch {
		case len(a) != 2 || value == "":
			lost = append(lost, v)
		case kind == "llm-rubric":
			response = append(response, value)
		case names[kind] != "":
			assertions = append(assertions, map[string]any{"type": names[kind], "value": value})
		default:
			lost = append(lost, v)
		}
	}
	out := map[string]any{}
	if response != nil {
		out["response"] = strings.Join(response, "\n")
	}
	if assertions != nil {
		out["assertions"] = assertions
	}
	if len(out) > 0 {
		t.expected = out
	}
	for _, v := range lost {
		f.unsupported(t, check(v))
	}
}
