package importer

import (
	"fmt"

	"rehearse/internal/source"
	"rehearse/internal/suite"
)

// check returns an assertion if the graders take it. One that they refuse is lost, with what they say.
func (r *reader) check(line int, what string, assertion any) ([]any, bool) {
	reader := &source.Reader{File: r.file}
	node := reader.Node(source.Value{Kind: source.List, Items: []source.Value{asValue(assertion)}}, "")
	for _, a := range suite.Assertions(node, r.out) {
		if a.Type != "" {
			node.Add(r.kinds.Validate(a))
		}
	}
	if faults, _ := reader.Problems.Split(); len(faults) > 0 {
		r.lose(line, what, "%s (%s)", faults[0].Message, faults[0].Hint)
		return nil, false
	}
	return []any{assertion}, true
}

// asValue returns what a suite reads of a value that is written.
func asValue(v any) source.Value {
	switch v := v.(type) {
	case source.Value:
		return v
	case pairs:
		m := source.Value{Kind: source.Map}
		for _, one := range v {
			m.Fields = append(m.Fields, source.Field{Name: one.name, Value: asValue(one.value)})
		}
		return m
	case []any:
		list := source.Value{Kind: source.List, Items: []source.Value{}}
		for _, one := range v {
			list.Items = append(list.Items, asValue(one))
		}
		return list
	case written:
		return source.Text(plain(v))
	case string:
		return source.Text(v)
	}
	return source.FromAny(v)
}

// call is a tool call as it is written in an assertion.
func call(name string, args source.Value) pairs {
	return pairs{{"name", name}}.with("args", args)
}

// calls returns the assertion that tool calls were made, of a conversation as it was recorded.
func (r *reader) calls(line int, wanted []any) []any {
	if len(wanted) == 0 {
		return nil
	}
	found, _ := r.check(line, fmt.Sprintf("%d tool calls", len(wanted)), pairs{{"type", "tool_calls"}, {"match", "superset"}, {"calls", wanted}})
	return found
}
