package suite

import (
	"slices"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// argsKeys are the two names of the args that a tool call must hold.
var argsKeys = []string{"args.partial", "args"}

// firstCallKeys are the keys of tool_call.
type firstCallKeys struct {
	Name source.Node `key:"name" schema:"name"`
	Args source.Node `key:"args.partial" alias:"args" schema:"object"`
}

// toolCall reads what the first tool call must be.
func (e *expectations) toolCall(n source.Node) {
	var k firstCallKeys
	source.Decode(n, &k)
	if n.Kind == source.Map {
		e.add(n, "tool_call", given(param{"name", k.Name}, param{"args", k.Args})...)
	}
}

// callsKeys are the keys of tool_calls.
type callsKeys struct {
	Match source.Node `key:"match" schema:"v1_match"`
	Calls source.Node `key:"calls" schema:"v1_call_list"`
}

// toolCalls reads what all tool calls must be.
func (e *expectations) toolCalls(n source.Node) {
	var k callsKeys
	source.Decode(n, &k)
	if n.Kind == source.Map {
		e.add(n, "tool_calls", given(param{"match", k.Match}, param{"calls", k.Calls.With(plainCalls(k.Calls))})...)
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
		n.Field("args").Report("keep one of the two", "args.partial and args are the same")
		return false
	}
	return true
}
