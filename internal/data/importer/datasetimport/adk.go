package datasetimport

import (
	"fmt"
	"strings"
)

// ADK has two forms: lists of {query, reference}, also in evalsets with a name, and {eval_cases: [{conversation}]}.

func isADK(root any) bool {
	if list(mapping(root)["eval_cases"]) != nil {
		return true
	}
	one := first(root)
	return text(one["query"]) != "" || list(one["data"]) != nil
}

func readADK(f *file, root any) (all []conversation) {
	if set := mapping(root); set != nil {
		f.rest(set, "eval_set_id", "name", "description", "eval_cases", "creation_timestamp")
		for _, v := range list(set["eval_cases"]) {
			all = append(all, evalCase(f, mapping(v)))
		}
		return all
	}
	if list(first(root)["data"]) == nil {
		return []conversation{queries(f, "conversation", list(root))}
	}
	for _, v := range list(root) {
		set := mapping(v)
		f.rest(set, "name", "data")
		all = append(all, queries(f, text(set["name"]), list(set["data"])))
	}
	return all
}

// queries reads the older form.
func queries(f *file, name string, all []any) conversation {
	c := conversation{name: name}
	for _, v := range all {
		one := mapping(v)
		t := expecting(text(one["query"]), text(one["reference"]))
		noCalls(&t, one["expected_tool_use"])
		f.rest(map[string]any{"expected_intermediate_agent_responses": one["expected_intermediate_agent_responses"]})
		f.checks(&t, one, "query", "reference", "expected_intermediate_agent_responses")
		c.turns = append(c.turns, t)
	}
	return c
}

// evalCase reads a conversation of the newer form.
func evalCase(f *file, m map[string]any) conversation {
	f.rest(m, "eval_id", "conversation", "creation_timestamp", "rubrics", "final_session_state")
	c := conversation{name: text(m["eval_id"])}
	if i := strings.LastIndexByte(c.name, '/'); i >= 0 { // it is the path of the file
		c.name = c.name[i+1:]
	}
	for _, v := range list(m["conversation"]) {
		one := mapping(v)
		t := expecting(parts(f, one["user_content"]), parts(f, one["final_response"]))
		f.checks(&t, one, "invocation_id", "user_content", "final_response", "creation_timestamp", "intermediate_data",
			"app_details")
		between := mapping(one["intermediate_data"])
		noCalls(&t, between["tool_uses"])
		f.rest(between, "tool_uses", "invocation_events")
		f.checks(&t, between, "tool_responses", "intermediate_responses")
		c.turns = append(c.turns, t)
	}
	if n := len(c.turns); n > 0 {
		f.checks(&c.turns[n-1], m, "eval_id", "conversation", "creation_timestamp", "session_input",
			"conversation_scenario")
	}
	return c
}

// parts joins the texts of a content.
func parts(f *file, content any) string {
	var said []string
	for _, v := range list(mapping(content)["parts"]) {
		part := mapping(v)
		f.rest(part, "text")
		if s := strings.TrimSpace(text(part["text"])); s != "" {
			said = append(said, s)
		}
	}
	return strings.Join(said, "\n")
}

// noCalls has a turn that lists no tool calls expect that none is made.
func noCalls(t *turn, calls any) {
	if all, ok := calls.([]any); ok && len(all) == 0 {
		if t.expected == nil {
			t.expected = map[string]any{}
		}
		t.expected["assertions"] = []any{map[string]any{"type": "tool_calls", "match": "exact", "calls": []any{}}}
	}
}

// expecting is a turn whose reference is both what is expected and what the conversation goes on with.
func expecting(query, reference string) turn {
	t := turn{query: query, answer: reference}
	if reference != "" {
		t.expected = map[string]any{"response": reference}
	}
	return t
}

// numbered names a conversation that has no name.
func numbered(name string, i int) string {
	if name != "" {
		return name
	}
	return fmt.Sprintf("conversation-%d", i+1)
}
