package grader

import (
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// The ways in which the args of a tool call are compared.
const (
	argsExact   = "exact"
	argsPartial = "partial"
	argsIgnored = "ignore"
	argsWithin  = "subset"
	// argsAround is another name of argsPartial.
	argsAround = "superset"
)

// argMatches are the names that authors may write, the default first.
var argMatches = []string{argsPartial, argsExact, argsIgnored, argsWithin, argsAround}

// wantedCall is a tool call as an author describes it.
type wantedCall struct {
	name string
	args any
	// match is one of the constants above.
	match string
	// fields are the paths of the args that alone are compared; nil compares by match.
	fields []string
}

// actualCall is a tool call as the agent made it.
type actualCall struct {
	name string
	args any
}

func actualCalls(calls []chat.ToolCall) []actualCall {
	actual := make([]actualCall, len(calls))
	for i, c := range calls {
		actual[i] = actualCall{c.Name, parsed(c.Args)}
		if actual[i].args == nil { // no args and empty args are the same
			actual[i].args = map[string]any{}
		}
	}
	return actual
}

func (w wantedCall) fits(c actualCall) bool {
	if w.name != c.name {
		return false
	}
	for _, field := range w.fields {
		if wanted := argAt(w.args, field); wanted != nil && !sameJSON(wanted, argAt(c.args, field)) {
			return false
		}
	}
	if w.fields != nil {
		return true
	}
	switch w.match {
	case argsExact:
		return sameJSON(w.args, c.args)
	case argsPartial, argsAround:
		return contains(c.args, w.args)
	case argsWithin:
		return contains(w.args, c.args)
	}
	return true
}

// argAt returns the value at a path of names with dots between them; nil when there is none.
func argAt(args any, path string) any {
	for name := range strings.SplitSeq(path, ".") {
		entries, _ := args.(map[string]any)
		args = entries[name]
	}
	return args
}

// readArgsMatch reads how args are compared: a name, or the list of the args that are compared by value.
func readArgsMatch(n source.Node) (match string, fields []string) {
	if n.Kind != source.List {
		return n.OneOf(argMatches...), nil
	}
	fields = n.Texts()
	if len(fields) == 0 {
		n.Report("name the args to compare, or write ignore", "the list is empty")
	}
	return argsExact, fields
}

// contains reports whether a JSON value contains the wanted one. A mapping contains every wanted key with a value that
// contains the wanted one. A list contains as many elements, each with the wanted one at its place. Anything else is
// compared by value; 1 equals 1.0.
func contains(got, wanted any) bool {
	switch wanted := wanted.(type) {
	case map[string]any:
		got, ok := got.(map[string]any)
		if !ok {
			return false
		}
		for key, value := range wanted {
			found, ok := got[key]
			if !ok || !contains(found, value) {
				return false
			}
		}
		return true
	case []any:
		got, ok := got.([]any)
		if !ok || len(got) != len(wanted) {
			return false
		}
		for i := range wanted {
			if !contains(got[i], wanted[i]) {
				return false
			}
		}
		return true
	}
	return sameJSON(got, wanted)
}

// String writes the call with the args that are compared.
func (w wantedCall) String() string {
	if w.match == argsIgnored {
		return callName(w.name)
	}
	return callName(w.name) + " " + show(w.args)
}

// String writes the call with its args.
func (c actualCall) String() string {
	if args, ok := c.args.(map[string]any); ok && len(args) == 0 {
		return callName(c.name)
	}
	return callName(c.name) + " " + show(c.args)
}

// callName shortens the name of a tool. A model may have made it up.
func callName(name string) string { return cutRunes(oneLine(name), maxQuoted) }

func callsText[T interface{ String() string }](calls []T) string {
	if len(calls) == 0 {
		return "no tool call"
	}
	texts := make([]string, len(calls))
	for i, c := range calls {
		texts[i] = c.String()
	}
	return fewOf(texts)
}

// readArgs reads the args of a wanted call, a mapping.
func readArgs(n source.Node) any {
	if n.Kind != source.Map {
		n.Report("write {name of the arg: value}", "expected args, got %s", n.Kind)
		return map[string]any{}
	}
	return n.Any()
}
