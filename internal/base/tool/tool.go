// Package tool has tools with scripted results: what a tool answers to which arguments stands in configuration. A model that is a target and a
// stand-in for an MCP server both answer calls with it.
package tool

import (
	"encoding/json"
	"regexp"
	"slices"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// Tool is a tool that a model may call, with its results.
type Tool struct {
	Name, Description string
	// Parameters is a JSON Schema; nil for a tool without parameters.
	Parameters json.RawMessage
	// Results are the results, the first that fits counts.
	Results []Result
}

// Result is what a tool answers to arguments that fit.
type Result struct {
	// When is a part of the arguments; nil fits all. Texts between slashes are patterns.
	When any
	// Times is how often the result is given in a conversation; 0 means always.
	Times int
	// Value is the result as JSON. Error is the text of a failure in its place; empty for none.
	Value json.RawMessage
	Error string
	Delay time.Duration
}

// Set are the tools of a target. It is never changed.
type Set []Tool

// names are how tools may be called: what all providers take.
var names = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$`)

// Read reads a list of tools. Problems go to n.
func Read(n source.Node) Set {
	var set Set
	for _, item := range n.List() {
		t := read(item)
		if slices.ContainsFunc(set, func(other Tool) bool { return other.Name == t.Name }) && t.Name != "" {
			item.Field("name").Report("give each tool a name of its own", "there are two tools called %q", t.Name)
		}
		set = append(set, t)
	}
	return set
}

func read(n source.Node) Tool {
	var t Tool
	n.Read(map[string]func(source.Node){
		"name":        func(n source.Node) { t.Name = n.Text() },
		"description": func(n source.Node) { t.Description = n.Text() },
		"parameters": func(n source.Node) {
			for range n.Entries() { // which reports what is no mapping
			}
			t.Parameters = asJSON(n)
		},
		"results": func(n source.Node) {
			for _, item := range n.List() {
				t.Results = append(t.Results, readResult(item))
			}
		},
	})
	if n.Kind == source.Map && !names.MatchString(t.Name) {
		n.Report("letters, digits, - and _, at most 64, and no digit first", "a tool needs a name, got %q", t.Name)
	}
	return t
}

func readResult(n source.Node) Result {
	var r Result
	n.Read(map[string]func(source.Node){
		"when":   func(n source.Node) { r.When = readWhen(n) },
		"times":  func(n source.Node) { r.Times = n.Int(1) },
		"result": func(n source.Node) { r.Value = asJSON(n) },
		"error":  func(n source.Node) { r.Error = n.Text() },
		"delay":  func(n source.Node) { r.Delay = n.Duration() },
	})
	valued := slices.ContainsFunc(n.Fields, func(f source.Field) bool { return f.Name == "result" }) // null is a result, too
	if valued && r.Value == nil {
		r.Value = json.RawMessage("null")
	}
	if n.Kind == source.Map && valued == n.Has("error") {
		n.Report("write `result:` with what the tool returns, or `error:` with what it says of a failure", "a result needs one of the two")
	}
	if n.Has("error") && r.Error == "" {
		n.Field("error").Report("say what the tool says", "the error is empty")
	}
	return r
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

// Load reads a file of tools, which is one of these files: a mapping with the key tools. For a faulty file the error is a source.Problems.
func Load(files source.Files, path string, data []byte) (Set, error) {
	root, err := files.ParseYAML(path, data)
	if err != nil {
		return nil, err
	}
	var set Set
	reader := &source.Reader{File: path}
	n := reader.Node(root, "")
	n.Read(map[string]func(source.Node){"tools": func(n source.Node) { set = Read(n) }})
	if n.Kind == source.Map && len(set) == 0 && reader.Problems.Err() == nil {
		n.Report("add `tools:`, a list", "there are no tools")
	}
	return set, reader.Problems.Err()
}
