package suite

import (
	"maps"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// expectations collects the assertions of the keys of expected and final_assertions.
type expectations struct {
	loader *loader
	all    []Assertion
}

// readExpected reads what is expected of a turn.
func (l *loader) readExpected(n source.Node) []Assertion {
	e := expectations{loader: l}
	n.Read(e.keys())
	e.readEnd(n)
	return e.all
}

// readFinal reads what is expected of the whole conversation. The reward and actions of a recording go to the test's
// metadata.
func (l *loader) readFinal(n source.Node, t *Test) {
	e := expectations{loader: l}
	recorded := map[string]any{}
	keys := e.keys()
	maps.Copy(keys, map[string]func(source.Node){
		"flow_completed":   func(n source.Node) { e.add(n, "flow_completed", param{"value", n}) },
		"forbidden_facts":  func(n source.Node) { e.addSome(n, "forbidden_facts", param{"value", n}) },
		"reward":           func(n source.Node) { recorded["reward"] = n.Any() },
		"expected_actions": func(n source.Node) { recorded["expected_actions"] = n.Any() },
	})
	n.Read(keys)
	e.readEnd(n)
	t.Assertions = e.all
	if len(recorded) > 0 {
		t.addMetadata("recorded", recorded)
	}
}

// keys are the expectations that a turn can have; dots in their names are part of them.
func (e *expectations) keys() map[string]func(source.Node) {
	return map[string]func(source.Node){
		"tool_call":  e.toolCall,
		"tool_calls": e.toolCalls,
		"tool_sequence": func(n source.Node) {
			e.add(n, "tool_calls", literal("match", n, "exact"), param{"calls", n})
		},
		"next_node_id":       e.nextNode,
		"assistant_contains": func(n source.Node) { e.addSome(n, "icontains", param{"value", n}) },
		"assistant_not_contains": func(n source.Node) {
			e.not(func() { e.addSome(n, "icontains_any", param{"value", n}) })
		},
		"assistant_matches": e.matches,
		"assistant_similar": e.similar,
		"facts_add":         func(n source.Node) { e.addSome(n, "facts", param{"add", n}) },
		"facts_update":      func(n source.Node) { e.addSome(n, "facts", param{"update", n}) },
		"judge_criteria":    e.judgeCriteria,
		"node_descriptor.options_contains": func(n source.Node) {
			e.addSome(n, "options_contains", param{"value", n})
		},
	}
}

// readEnd reads a next_node_id of null, which says that the flow has ended; any other null says nothing.
func (e *expectations) readEnd(n source.Node) {
	if v, ok := n.Get("next_node_id"); ok && v.Kind == source.Null {
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

// matches makes an assertion of each pattern, so that each has a failure of its own.
func (e *expectations) matches(n source.Node) {
	for pattern := range n.Each() {
		e.add(n, "regex", param{"value", pattern})
	}
}

func (e *expectations) similar(n source.Node) {
	var k struct {
		Text   source.Node `key:"text"`
		Min    source.Node `key:"min"`
		Method source.Node `key:"method"`
	}
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
