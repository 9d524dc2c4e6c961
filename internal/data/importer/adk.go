package importer

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// ADK has evaluation sets of cases with a conversation each, and an older form: lists of {query, reference}, also under
// names.

func fitsADK(root source.Value) bool {
	one := first(root)
	return has(root, "eval_cases") || has(one, "query") || has(one, "data") && root.Kind == source.List
}

func readADK(r *reader, root source.Value) {
	if cases, ok := root.Get("eval_cases"); ok {
		top := r.entry(root, "")
		top.keep("eval_set_id", "eval_cases", "creation_timestamp")
		top.ignore("it describes the file", "name", "description")
		top.rest()
		own := r.taken()
		from := len(r.tests)
		for _, v := range cases.Items {
			r.evalCase(v)
		}
		r.share(from, append(own, r.criteria()...))
		return
	}
	defer func(from int) { r.share(from, r.criteria()) }(len(r.tests))
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

// criteria returns the criteria of a test_config.json next to the file that the suite does not carry.
func (r *reader) criteria() []any {
	path := filepath.Join(r.dir, "test_config.json")
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	own := *r
	own.file = path
	root, err := Load(path)
	if err != nil {
		own.unsupported(source.Value{}, "test_config.json", "the file cannot be read: %v", err)
		return r.taken()
	}
	config := own.entry(root, "")
	criteria := own.entry(config.get("criteria"), "criteria")
	criteria.drop("every tool call must match", "tool_trajectory_avg_score")
	criteria.drop("a judge compares the reply with the reference", "response_match_score")
	criteria.rest()
	config.rest()
	return r.taken()
}

// queries reads the older form.
func (r *reader) queries(name string, list source.Value) {
	t := &test{id: name}
	for _, v := range list.Items {
		e := r.entry(v, "turn")
		one := turn{text: e.text("query"), expected: e.expectation("reference")}
		if has(v, "expected_tool_use") {
			one.assertions = r.trajectory(e, "expected_tool_use")
		}
		e.ignore("ADK does not grade it", "expected_intermediate_agent_responses")
		e.rest()
		one.assertions = append(one.assertions, r.taken()...)
		t.turns = append(t.turns, one)
	}
	t.conversation = bothGraded(t.turns)
	r.add(list, t)
}

// bothGraded reports whether the turns need a conversation: there are several, or one with both a reference and
// assertions, of which a test of one message grades the assertions alone.
func bothGraded(turns []turn) bool {
	return len(turns) > 1 || len(turns) == 1 && !blank(turns[0].expected) && len(turns[0].assertions) > 0
}

// trajectory returns the assertion that exactly the calls of a key are made, in their order; none means no call.
func (r *reader) trajectory(e *entry, key string) []any {
	wanted := r.recordedCalls(e.list(key))
	for i, one := range wanted {
		if p, ok := one.(pairs); ok && p.get("args") != nil {
			wanted[i] = append(p, pair{"args_match", "exact"})
		}
	}
	if wanted == nil {
		wanted = []any{}
	}
	found, _ := r.check(e.part(key), "the expected tool calls",
		pairs{{"type", "tool_calls"}, {"match", "exact"}, {"calls", wanted}})
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
	session := r.settings(e.get("session_input"), "session_input")
	session.keep("app_name", "user_id")
	session.drop("targets begin in a state of their own", "state")
	session.rest()
	for _, v := range e.list("conversation") {
		t.turns = append(t.turns, r.invocation(v))
	}
	t.conversation = bothGraded(t.turns)
	if scenario := r.entry(e.get("conversation_scenario"), "conversation_scenario"); len(scenario.Fields) > 0 {
		plan := scenario.text("conversation_plan")
		t.user = pairs{}.with("goal", plan).with("opening", scenario.text("starting_prompt"))
		scenario.rest()
		if blank(plan) {
			t.user = nil
		}
	}
	e.rest()
	r.add(v, t)
}

func (r *reader) invocation(v source.Value) turn {
	e := r.entry(v, "invocation")
	e.keep("invocation_id", "creation_timestamp")
	one := turn{text: r.parts(e.get("user_content")), expected: r.parts(e.get("final_response"))}
	if !blank(one.expected) {
		r.carry(e.part("final_response"))
	}
	e.ignore("it describes the agent that was recorded", "app_details")
	between := r.entry(e.get("intermediate_data"), "intermediate_data")
	if has(between.Value, "tool_uses") {
		one.assertions = r.trajectory(between, "tool_uses")
	}
	between.ignore("ADK does not grade it", "intermediate_responses")
	between.ignore("the agent calls its own tools", "tool_responses")
	between.rest()
	e.rest()
	one.assertions = append(one.assertions, r.taken()...)
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
		for _, name := range part.unread() {
			r.leave(part.part(name), part.name(name), "messages are texts", "")
		}
	}
	content.rest()
	return strings.Join(said, "\n")
}
