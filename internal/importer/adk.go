package importer

import (
	"strings"

	"rehearse/internal/source"
)

// ADK has evaluation sets of cases with a conversation each, and an older form: lists of {query, reference}, also under names.

func fitsADK(root source.Value) bool {
	one := first(root)
	return has(root, "eval_cases") || has(one, "query") || has(one, "data") && root.Kind == source.List
}

func readADK(r *reader, root source.Value) {
	if cases, ok := root.Get("eval_cases"); ok {
		top := r.entry(root, "")
		top.keep("eval_set_id", "name", "description", "eval_cases", "creation_timestamp")
		top.rest()
		for _, v := range cases.Items {
			r.evalCase(v)
		}
		return
	}
	if !has(first(root), "data") {
		list := root
		if root.Kind == source.Map {
			list = source.Value{Kind: source.List, Items: []source.Value{root}, Line: root.Line}
		}
		r.queries("conversation", list)
		return
	}
	for _, v := range root.Items {
		e := r.entry(v, "evaluation")
		name := e.text("name")
		e.drop("targets begin in a state of their own", "initial_session")
		r.queries(name, e.get("data"))
		e.rest()
	}
}

// queries reads the older form.
func (r *reader) queries(name string, list source.Value) {
	t := &test{id: name, conversation: len(list.Items) > 1}
	for _, v := range list.Items {
		e := r.entry(v, "turn")
		one := turn{text: e.text("query"), expected: e.text("reference")}
		if has(v, "expected_tool_use") {
			one.assertions = r.trajectory(v.Line, r.recordedCalls(e.list("expected_tool_use")))
		}
		e.drop("nothing is known of what an agent says while it works", "expected_intermediate_agent_responses")
		e.rest()
		t.turns = append(t.turns, one)
	}
	r.add(list.Line, t)
}

// trajectory returns the assertion that exactly these calls are made, in their order; none means no call.
func (r *reader) trajectory(line int, wanted []any) []any {
	for i, one := range wanted {
		if p, ok := one.(pairs); ok && p.get("args") != nil {
			wanted[i] = append(p, pair{"args_match", "exact"})
		}
	}
	if wanted == nil {
		wanted = []any{}
	}
	found, _ := r.check(line, "the expected tool calls", pairs{{"type", "tool_calls"}, {"match", "exact"}, {"calls", wanted}})
	return found
}

func (r *reader) evalCase(v source.Value) {
	e := r.entry(v, "case")
	id := e.text("eval_id")
	if i := strings.LastIndexByte(id, '/'); i >= 0 { // it is the path of the file
		id = id[i+1:]
	}
	t := &test{id: id}
	e.keep("creation_timestamp")
	session := r.entry(e.get("session_input"), "session_input")
	session.keep("app_name", "user_id")
	session.drop("targets begin in a state of their own", "state")
	session.rest()
	for _, v := range e.list("conversation") {
		t.turns = append(t.turns, r.invocation(v))
	}
	t.conversation = len(t.turns) > 1
	if scenario := r.entry(e.get("conversation_scenario"), "conversation_scenario"); len(scenario.Fields) > 0 {
		plan := scenario.text("conversation_plan")
		t.user = pairs{}.with("goal", plan).with("opening", scenario.text("starting_prompt"))
		scenario.rest()
		if blank(plan) {
			t.user = nil
		}
	}
	e.rest()
	r.add(v.Line, t)
}

func (r *reader) invocation(v source.Value) turn {
	e := r.entry(v, "invocation")
	e.keep("invocation_id", "creation_timestamp")
	one := turn{text: r.parts(e.get("user_content")), expected: r.parts(e.get("final_response"))}
	between := r.entry(e.get("intermediate_data"), "intermediate_data")
	if has(between.Value, "tool_uses") {
		one.assertions = r.trajectory(v.Line, r.recordedCalls(between.list("tool_uses")))
	}
	between.drop("nothing is known of what an agent says while it works", "intermediate_responses")
	between.drop("the agent calls its own tools", "tool_responses")
	between.rest()
	e.rest()
	return one
}

// parts joins the texts of a content.
func (r *reader) parts(v source.Value) string {
	content := r.entry(v, "content")
	content.keep("role")
	var said []string
	for _, v := range content.list("parts") {
		part := r.entry(v, "part")
		if s := strings.TrimSpace(part.text("text")); s != "" {
			said = append(said, s)
		}
		part.rest()
	}
	content.rest()
	return strings.Join(said, "\n")
}
