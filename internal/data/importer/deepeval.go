package importer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// deepeval has goldens, conversational goldens, whose user is simulated, and conversations that were held.

// goldenLists are the keys under which a data set has its goldens.
var goldenLists = []string{
	"goldens", "conversational_goldens", "conversationalGoldens", "test_cases", "testCases",
	"conversational_test_cases",
}

func fitsDeepEval(root source.Value) bool {
	for _, name := range goldenLists {
		if list, ok := root.Get(name); ok && list.Kind == source.List {
			return true
		}
	}
	one := first(root)
	scenario, _ := one.Get("scenario")
	return scenario.Kind == source.String || has(one, "turns") && !has(one, "assert") ||
		has(one, "input") && !has(one, "role")
}

func readDeepEval(r *reader, root source.Value) {
	var all []source.Value
	switch {
	case root.Kind == source.List:
		all = root.Items
	case fitsDeepEval(source.Value{Kind: source.List, Items: []source.Value{root}}):
		all = []source.Value{root}
	default:
		top := r.settings(root, "")
		for _, name := range goldenLists {
			all = append(all, top.list(name)...)
		}
		top.rest()
	}
	for i, v := range all {
		e := r.entry(v, "golden")
		id := e.text("name")
		if id == "" {
			id = fmt.Sprintf("golden-%d", i+1)
		}
		t := &test{id: id}
		t.metadata = t.metadata.with("additional_metadata", e.get("additional_metadata", "additionalMetadata")).
			with("comments", e.text("comments"))
		e.keep("_alias", "_dataset_rank", "_dataset_alias", "_dataset_id", "dataset_rank", "id")
		e.ignore("it says where the golden comes from", "source_file", "sourceFile")
		switch {
		case has(v, "scenario") || has(v, "turns"):
			r.conversational(e, t)
		default:
			t.turns = []turn{{text: e.text("input"), expected: e.expectation("expected_output", "expectedOutput")}}
			e.ignore("a run records its own reply", "actual_output", "actualOutput", "tools_called", "toolsCalled",
				"retrieval_context", "retrievalContext")
			e.drop("metrics in code read it", "context")
			if has(v, "expected_tools") || has(v, "expectedTools") { // an empty list says that no tool is expected
				e.unsupported("metrics in code grade it", "expected_tools", "expectedTools")
			}
			e.keep("expected_tools", "expectedTools")
		}
		e.rest()
		r.add(v, t)
	}
}

// conversational reads a conversation: its turns if there are any, else a simulated user.
func (r *reader) conversational(e *entry, t *test) {
	scenario, outcome := e.text("scenario"), e.text("expected_outcome", "expectedOutcome")
	if said := e.list("turns"); len(said) > 0 {
		if said[0].Kind == source.String && len(said) == 1 {
			said = r.embedded(said[0])
		}
		r.said(t, said)
		t.metadata = t.metadata.with("scenario", scenario).with("user_description",
			e.text("user_description", "userDescription"))
	} else {
		t.user = pairs{}.with("persona", e.text("user_description", "userDescription")).with("goal", scenario)
		if blank(scenario) && len(t.user) == 0 {
			t.user = nil
		}
	}
	if strings.TrimSpace(outcome) != "" {
		t.whole = append(t.whole, any(outcome))
		r.carry(e.part("expected_outcome", "expectedOutcome"))
	}
	if role := e.text("chatbot_role", "chatbotRole"); strings.TrimSpace(role) != "" {
		t.metadata = t.metadata.with("chatbot_role", role)
	}
	e.drop("metrics in code read it", "context", "retrieval_context", "mcp_servers")
}

// embedded returns turns that stand as JSON in a cell of a table.
func (r *reader) embedded(v source.Value) []source.Value {
	parsed, err := source.ParseJSON(r.file, []byte(v.Scalar), v.Line)
	if err != nil || parsed.Kind != source.List {
		r.unsupported(one("turns", v), "turns", "they are no list in JSON")
		return nil
	}
	return parsed.Items
}

// said makes turns of what was said in a conversation: what the assistant said is expected, and what comes before the
// user is input.
func (r *reader) said(t *test, all []source.Value) {
	for _, v := range all {
		e := r.settings(v, "message")
		role := e.text("role")
		text := r.contentText(e.get("content"))
		if (role == "assistant" || role == "model") && !blank(text) && len(t.turns) > 0 {
			r.carry(e.part("content"))
		}
		called := e.part("tools_called", "tool_calls")
		list := e.list("tools_called", "tool_calls")
		e.keep("user_id", "additional_metadata", "name", "tool_call_id", "function_call", "refusal", "annotations",
			"audio", "provider_specific_fields")
		e.ignore("a run records its own", "retrieval_context")
		r.heard(t, v, role, text, called, r.recordedCalls(list))
		e.rest()
		if n := len(t.turns); n > 0 {
			t.turns[n-1].assertions = append(t.turns[n-1].assertions, r.taken()...)
		}
	}
	t.conversation = true
}

// heard adds a message to the turns of a test.
func (r *reader) heard(t *test, v source.Value, role, text string, original source.Value, called []any) {
	n := len(t.turns)
	switch role {
	case "user":
		t.turns = append(t.turns, turn{text: text})
		return
	case "system", "developer":
		if n == 0 && strings.TrimSpace(text) != "" {
			t.input = append(t.input, message{"system", text})
			return
		}
	case "assistant", "model":
		if n == 0 && strings.TrimSpace(text) != "" {
			t.input = append(t.input, message{"assistant", text})
			text = ""
		}
		if n > 0 {
			last := &t.turns[n-1]
			if before := plain(last.expected); before != "" && text != "" {
				text = before + "\n\n" + text
			} else if text == "" {
				text = before
			}
			last.expected = text
			last.assertions = joinedCalls(last.assertions, r.calls(original, called))
			return
		}
		if len(called) > 0 {
			r.unsupported(original, fmt.Sprintf("%d tool calls", len(called)), "they were made before the user spoke")
		}
		return
	case "tool", "function":
		r.ignore(v.Line, "a message of the role "+role, "the agent calls its own tools")
		return
	}
	if strings.TrimSpace(text) != "" {
		r.unsupported(v, "a message of the role "+role, "it has no place among the turns")
	}
}

// joinedCalls puts the calls of several messages of one turn into one assertion.
func joinedCalls(before, more []any) []any {
	if len(before) == 0 || len(more) == 0 {
		return append(before, more...)
	}
	a, b := before[0].(pairs), more[0].(pairs)
	if a.get("type") != b.get("type") {
		return append(before, more...)
	}
	first, _ := a.get("calls").([]any)
	second, _ := b.get("calls").([]any)
	joined := []any{pairs{a[0], a[1], {"calls", slices.Concat(first, second)}}}
	return slices.Concat(joined, before[1:], more[1:])
}

// recordedCalls returns tool calls of a message: {name, args}, {tool_name, input} or {function: {name, arguments}}.
func (r *reader) recordedCalls(list []source.Value) (all []any) {
	for _, v := range list {
		e := r.entry(v, "tool call")
		e.keep("id", "type", "index", "description", "reasoning", "output", "call_id")
		if inner := e.get("function"); inner.Kind == source.Map {
			e = r.entry(inner, "tool call")
		}
		name := e.text("name", "tool_name", "tool")
		args := e.get("input_parameters", "inputParameters", "arguments", "args", "tool_input", "input", "kwargs")
		if args.Kind == source.String {
			if parsed, err := source.ParseJSON("", []byte(args.Scalar), 1); err == nil {
				args = parsed
			}
		}
		if args.Kind != source.Map && args.Kind != source.Null {
			r.unsupported(v, "the arguments of "+name, "they are no mapping")
			args = source.Value{}
		}
		if strings.TrimSpace(name) == "" {
			r.unsupported(v, "a tool call", "it has no name")
			continue
		}
		all = append(all, call(name, args))
	}
	return all
}
