package datasetimport

import "strings"

// AgentV's suites have conversations as lists of messages with the answer that is expected, or turns with criteria. A
// suite can also be run as it is; as a dataset its conversations are rebuilt instead of held.

func isAgentV(root any) bool {
	for _, v := range list(mapping(root)["tests"]) {
		test := mapping(v)
		if text(test["id"]) != "" && (list(test["turns"]) != nil || list(mapping(test["vars"])["input"]) != nil) {
			return true
		}
	}
	return false
}

func readAgentV(f *file, root any) (all []conversation) {
	m := mapping(root)
	f.rest(m, "description", "tests", "assert", "default_test")
	for i, v := range list(m["tests"]) {
		test := mapping(v)
		vars := mapping(test["vars"])
		f.rest(map[string]any{"mode": test["mode"], "tags": test["tags"], "depends_on": test["depends_on"]})
		f.rest(vars, "input", "expected_output")
		c := conversation{name: numbered(text(test["id"]), i), turns: messages(f, list(vars["input"]))}
		for _, v := range list(test["turns"]) {
			one := mapping(v)
			t := turn{query: text(one["input"])}
			criteria(f, &t, one["assert"], text(one["expected_output"]))
			f.checks(&t, one, "input", "assert", "expected_output")
			c.turns = append(c.turns, t)
		}
		if n := len(c.turns); n > 0 {
			last := &c.turns[n-1]
			answer := ""
			if said := list(vars["expected_output"]); len(said) > 0 {
				answer = text(first(said)["content"])
				f.lose("further messages of expected_output", len(said)-1)
			}
			if test["turns"] == nil {
				criteria(f, last, test["assert"], answer)
			} else {
				for _, v := range list(test["assert"]) {
					f.unsupported(last, check(v))
				}
			}
			for _, v := range list(m["assert"]) {
				f.unsupported(last, check(v))
			}
			f.checks(last, test, "id", "vars", "turns", "assert", "mode", "tags", "depends_on", "description")
			f.checks(last, map[string]any{"default_test": m["default_test"]})
		}
		all = append(all, c)
	}
	return all
}

// messages makes turns of a list of messages.
func messages(f *file, all []any) (turns []turn) {
	for _, v := range all {
		m := mapping(v)
		f.rest(m, "role", "content")
		switch role := text(m["role"]); {
		case role == "user":
			turns = append(turns, turn{query: text(m["content"])})
		case role == "assistant" && len(turns) > 0:
			turns[len(turns)-1].answer = text(m["content"])
		default:
			f.lose("messages of the role "+role, 1)
		}
	}
	return turns
}

// check returns an assertion, or a criterion in words, as a mapping.
func check(v any) map[string]any {
	if m := mapping(v); m != nil {
		return m
	}
	return map[string]any{"criterion": v}
}

// criteria takes over criteria in words, with the answer that is expected before them, and the assertions that wanted
// knows.
func criteria(f *file, t *turn, asserted any, answer string) {
	var words []string
	if answer != "" {
		words = append(words, strings.TrimSpace(answer))
	}
	var structured []any
	for _, v := range list(asserted) {
		if said := text(v); said != "" {
			words = append(words, said)
		} else {
			structured = append(structured, v)
		}
	}
	wanted(f, t, structured)
	if len(words) == 0 {
		return
	}
	if t.expected == nil {
		t.expected = map[string]any{}
	}
	if said := text(t.expected["response"]); said != "" {
		words = append(words, said)
	}
	t.expected["response"] = strings.Join(words, "\n")
}
