package suite

import (
	"slices"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// argsKeys are the two names of the args that a tool call must hold.
var argsKeys = []string{"args.partial", "args"}

// toolCall reads {name, "args.partial"}, what the first tool call must be.
func (e *expectations) toolCall(n source.Node) {
	var params []param
	n.Read(map[string]func(source.Node){
		"name":         func(n source.Node) { params = append(params, param{"name", n}) },
		"args.partial": func(n source.Node) { params = append(params, param{"args", n}) },
		"args":         func(n source.Node) { params = append(params, param{"args", n}) },
	})
	if n.Kind == source.Map && oneArgs(n) {
		e.add(n, "tool_call", params...)
	}
}

// toolCalls reads {match, calls}.
func (e *expectations) toolCalls(n source.Node) {
	var params []param
	n.Read(map[string]func(source.Node){
		"match": func(n source.Node) { params = append(params, param{"match", n}) },
		"calls": func(n source.Node) { params = append(params, param{"calls", n.With(plainCalls(n))}) },
	})
	if n.Kind == source.Map {
		e.add(n, "tool_calls", params...)
	}
}

// plainCalls returns a list of calls in which args has its one plain name.
func plainCalls(n source.Node) source.Value {
	v := n.Value
	if v.Kind != source.List {
		return v
	}
	v.Items = slices.Clone(v.Items)
	for i, call := range n.List() {
		if call.Kind == source.Map && oneArgs(call) {
			v.Items[i].Fields = plainArgs(call)
		}
	}
	return v
}

func plainArgs(call source.Node) []source.Field {
	fields := slices.Clone(call.Fields)
	for i := range fields {
		if fields[i].Name != argsKeys[0] {
			continue
		}
		if args := call.Field(argsKeys[0]); args.Kind != source.Map && args.Kind != source.Null {
			args.Report("write {name of the arg: value}", "expected args, got %s", args.Kind)
			fields[i].Value = source.Value{}
		}
		fields[i].Name = argsKeys[1]
	}
	return fields
}

func oneArgs(n source.Node) bool {
	if n.Has(argsKeys[0]) && n.Has(argsKeys[1]) {
		n.Field("args").Report("keep args.partial", "args and args.partial are the same")
		return false
	}
	return true
}
