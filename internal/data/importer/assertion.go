package importer

import (
	"fmt"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// check returns an assertion if the graders take it. One that they refuse is unsupported, for the reason that they
// give.
func (r *reader) check(original source.Value, what string, assertion any) ([]any, bool) {
	reader := &source.Reader{File: r.file}
	node := reader.Node(source.Value{Kind: source.List, Items: []source.Value{asValue(assertion)}}, "")
	for _, a := range suite.Assertions(node, r.out) {
		if a.Type != "" {
			node.Add(r.kinds.Validate(a))
		}
	}
	if faults, _ := reader.Problems.Split(); len(faults) > 0 {
		why := faults[0].Message
		if faults[0].Hint != "" {
			why += " (" + faults[0].Hint + ")"
		}
		r.unsupported(original, what, "%s", why)
		return nil, false
	}
	r.carry(original)
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
func (r *reader) calls(original source.Value, wanted []any) []any {
	if len(wanted) == 0 {
		return nil
	}
	found, _ := r.check(original, fmt.Sprintf("%d tool calls", len(wanted)),
		pairs{{"type", "tool_calls"}, {"match", "superset"}, {"calls", wanted}})
	return found
}
