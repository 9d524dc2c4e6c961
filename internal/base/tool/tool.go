// Package tool has tools with scripted results: what a tool answers to which arguments stands in configuration. A model
// that is a target and a stand-in for an MCP server both answer calls with it.
package tool

import (
	"encoding/json"
	"regexp"
	"slices"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/source"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// Tool is a tool that a model may call, with its results.
type Tool struct {
	Name        string `key:"name"`
	Description string `key:"description"`
	// Parameters is a JSON Schema; nil for a tool without parameters.
	Parameters json.RawMessage
	// Results are the results, the first that fits counts.
	Results []Result `key:"results"`
}

// Result is what a tool answers to arguments that fit.
type Result struct {
	// When is a part of the arguments; nil fits all. Texts between slashes are patterns.
	When any
	// Times is how often the result is given in a conversation; 0 means always.
	Times int `key:"times" minimum:"1"`
	// Value is the result as JSON. Error is the text of a failure in its place; empty for none.
	Value json.RawMessage
	Error string        `key:"error"`
	Delay time.Duration `key:"delay"`
}

// Set are the tools of a target. It is never changed.
type Set []Tool

// names are how tools may be called: what all providers take.
var names = text.Regexp(`^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$`)

// DecodeNode reads a list of tools.
func (s *Set) DecodeNode(n source.Node) {
	for _, item := range n.List() {
		keys := struct {
			Tool
			Parameters source.Node `key:"parameters"`
		}{}
		source.Decode(item, &keys)
		t := keys.Tool
		if keys.Parameters.Kind != source.Null {
			for range keys.Parameters.Entries() { // which reports what is no mapping
			}
			t.Parameters = asJSON(keys.Parameters)
		}
		if item.Kind == source.Map && !names().MatchString(t.Name) {
			item.Report("letters, digits, - and _, at most 64, and no digit first",
				"a tool needs a name, got %q", t.Name)
		}
		if slices.ContainsFunc(*s, func(other Tool) bool { return other.Name == t.Name }) && t.Name != "" {
			item.Field("name").Report("give each tool a name of its own", "there are two tools called %q", t.Name)
		}
		*s = append(*s, t)
	}
}

// DecodeNode reads {when, times, result or error, delay}.
func (r *Result) DecodeNode(n source.Node) {
	type plain Result
	keys := struct {
		plain
		When   source.Node `key:"when"`
		Result source.Node `key:"result"`
	}{}
	source.Decode(n, &keys)
	*r = Result(keys.plain)
	if keys.When.Kind != source.Null {
		r.When = readWhen(keys.When)
	}
	if result, given := n.Get("result"); given { // null is a result, too
		r.Value = asJSON(n.With(result))
	}
	if n.Kind == source.Map && (r.Value != nil) == n.Has("error") {
		n.Report("write `result:` with what the tool returns, or `error:` with what it says of a failure",
			"a result needs one of the two")
	}
	if n.Has("error") && r.Error == "" {
		n.Field("error").Report("say what the tool says", "the error is empty")
	}
}

// readWhen reads a part of arguments and checks its patterns.
func readWhen(n source.Node) any {
	for range n.Entries() { // which reports what is no mapping
	}
	check(n)
	return n.Any()
}

func check(n source.Node) {
	switch n.Kind {
	case source.String:
		if text, ok := pattern(n.Scalar); ok {
			if _, err := regexp.Compile(text); err != nil {
				n.Report("a text between slashes is a pattern (RE2)", "%v", err)
			}
		}
	case source.List:
		for _, item := range n.List() {
			check(item)
		}
	case source.Map:
		for _, value := range n.Entries() {
			check(value)
		}
	}
}

func asJSON(n source.Node) json.RawMessage {
	data, err := json.Marshal(n.Any())
	if err != nil { // what was read as YAML can be written, but for numbers that JSON does not have
		n.Report("write it as a text", "%v", err)
	}
	return data
}

// Load reads a file of tools, which is one of these files: a mapping with the key tools. For a faulty file the error is
// a source.Problems.
func Load(files source.Files, path string, data []byte) (Set, error) {
	root, err := files.ParseYAML(path, data)
	if err != nil {
		return nil, err
	}
	reader := &source.Reader{File: path}
	n := reader.Node(root, "")
	keys := struct {
		Tools Set `key:"tools"`
	}{}
	source.Decode(n, &keys)
	set := keys.Tools
	if n.Kind == source.Map && len(set) == 0 && reader.Problems.Err() == nil {
		n.Report("add `tools:`, a list", "there are no tools")
	}
	return set, reader.Problems.InOrder().Err()
}
