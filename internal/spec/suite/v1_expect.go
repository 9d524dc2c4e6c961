package suite

import "github.com/rehearse-dev/rehearse/internal/base/source"

// expectedKeys are what is expected of a turn; dots in the names are part of them.
type expectedKeys struct {
	ToolCall    source.Node `key:"tool_call" schema:"v1_first_call" doc:"the first tool call"`
	ToolCalls   source.Node `key:"tool_calls" schema:"v1_calls" doc:"all tool calls"`
	Sequence    source.Node `key:"tool_sequence" schema:"v1_sequence" doc:"the names of all tool calls, in order"`
	NextNode    source.Node `key:"next_node_id" schema:"v1_node" doc:"the flow's node after the reply; null at its end"`
	Contains    source.Node `key:"assistant_contains" schema:"texts" doc:"texts in the reply, in any case"`
	NotContains source.Node `key:"assistant_not_contains" schema:"texts" doc:"texts not in the reply, in any case"`
	Matches     source.Node `key:"assistant_matches" schema:"texts" doc:"RE2 patterns that the reply matches"`
	Similar     source.Node `key:"assistant_similar" schema:"v1_similar"`
	FactsAdd    source.Node `key:"facts_add" schema:"v1_facts" doc:"facts that the turn adds"`
	FactsUpdate source.Node `key:"facts_update" schema:"v1_facts" doc:"facts that the turn changes"`
	Criteria    source.Node `key:"judge_criteria" schema:"v1_criteria"`
	Options     source.Node `key:"node_descriptor.options_contains" schema:"v1_options" doc:"options of that node"`
}

// finalKeys are what is expected of the whole conversation.
type finalKeys struct {
	expectedKeys
	Completed source.Node `key:"flow_completed" schema:"flag" doc:"whether the flow has ended"`
	Forbidden source.Node `key:"forbidden_facts" schema:"v1_forbidden"`
	Reward    source.Node `key:"reward" doc:"part of the recording, not graded: metadata.recorded.reward"`
	Actions   source.Node `key:"expected_actions" doc:"part of the recording, not graded"`
}

// expectations collects the assertions of the keys of expected and final_assertions.
type expectations struct {
	loader *loader
	all    []Assertion
	// recorded has the reward and actions of a recording.
	recorded map[string]any
}

// readExpected reads what is expected of a turn.
func (l *loader) readExpected(n source.Node) []Assertion {
	e := expectations{loader: l}
	source.Decode(n, &expectedKeys{})
	e.read(n)
	return e.all
}

// readFinal reads what is expected of the whole conversation. The reward and actions of a recording go to the test's
// metadata.
func (l *loader) readFinal(n source.Node, t *Test) {
	e := expectations{loader: l, recorded: map[string]any{}}
	source.Decode(n, &finalKeys{})
	e.read(n)
	t.Assertions = e.all
	if len(e.recorded) > 0 {
		t.addMetadata("recorded", e.recorded)
	}
}

// read makes assertions of the keys, in the order of the file. Decode has reported unknown keys.
func (e *expectations) read(n source.Node) {
	for _, f := range n.Fields {
		n := n.Field(f.Name)
		if n.Kind == source.Null {
			continue
		}
		switch f.Name {
		case "tool_call":
			e.toolCall(n)
		case "tool_calls":
			e.toolCalls(n)
		case "tool_sequence":
			e.add(n, "tool_calls", literal("match", n, "exact"), param{"calls", n})
		case "next_node_id":
			e.nextNode(n)
		case "assistant_contains":
			e.addSome(n, "icontains", param{"value", n})
		case "assistant_not_contains":
			e.not(func() { e.addSome(n, "icontains_any", param{"value", n}) })
		case "assistant_matches":
			for pattern := range n.Each() { // each pattern has a failure of its own
				e.add(n, "regex", param{"value", pattern})
			}
		case "assistant_similar":
			e.similar(n)
		case "facts_add":
			e.addSome(n, "facts", param{"add", n})
		case "facts_update":
			e.addSome(n, "facts", param{"update", n})
		case "judge_criteria":
			e.judgeCriteria(n)
		case "node_descriptor.options_contains":
			e.addSome(n, "options_contains", param{"value", n})
		case "flow_completed":
			e.add(n, "flow_completed", param{"value", n})
		case "forbidden_facts":
			e.addSome(n, "forbidden_facts", param{"value", n})
		case "reward", "expected_actions":
			e.recorded[f.Name] = n.Any()
		}
	}
	if v, ok := n.Get("next_node_id"); ok && v.Kind == source.Null { // the flow has ended
		e.nextNode(n.Field("next_node_id"))
	}
}

func (e *expectations) nextNode(n source.Node) {
	if n.Kind == source.List || n.Kind == source.Map {
		n.Report("write the id of a node, or null when the flow must have ended", "expected a node, got %s", n.Kind)
		return
	}
	e.add(n, "next_node", param{"value", n})
}

// similarKeys are the keys of assistant_similar.
type similarKeys struct {
	Text   source.Node `key:"text" schema:"name"`
	Min    source.Node `key:"min"`
	Method source.Node `key:"method"`
}

func (e *expectations) similar(n source.Node) {
	var k similarKeys
	source.Decode(n, &k)
	switch {
	case n.Kind != source.Map:
	case !n.Has("text"):
		n.Report("write {text: …, min: 0.8}", "assistant_similar needs a text")
	default:
		params := given(param{"min", k.Min}, param{"value", k.Text}, param{"method", k.Method})
		if k.Min.Kind == source.Null {
			params = append(params, literal("min", n, "0.8"))
		}
		e.add(n, "similar", params...)
	}
}

func (e *expectations) judgeCriteria(n source.Node) {
	params := []param{{"criteria", n}}
	if criteria := e.loader.v1.criteria; criteria.Kind != source.Null {
		params = append(params, param{"average_of", criteria})
	}
	if n.Kind != source.Map {
		n.Report("write {assistant_quality_min: 0.7}", "expected criteria with their least scores, got %s", n.Kind)
		return
	}
	if len(n.Fields) > 0 {
		e.add(n, "judge_criteria", params...)
	}
}
