package suite

import (
	"maps"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// Suites of AgentV 4.x are conversation suites with a few more keys.

// ineffective are keys of a suite that have no effect. They are copied to its metadata.
type ineffective struct {
	Schema     any `key:"$schema" doc:"copied to the metadata, as author, license and so on"`
	Author     any `key:"author"`
	License    any `key:"license"`
	Category   any `key:"category"`
	Version    any `key:"version"`
	Requires   any `key:"requires"`
	Governance any `key:"governance"`
}

// ineffectiveKeys are the names of these keys.
var ineffectiveKeys = source.Keys[ineffective]()

// otherAssertionKeys are names under which a test may have assertions besides assertions.
var otherAssertionKeys = []string{"assert", "evaluators", "rubrics"}

// without returns a mapping without some of its keys.
func without(v source.Value, keys []string) source.Value {
	drop := func(f source.Field) bool { return slices.Contains(keys, f.Name) }
	if slices.ContainsFunc(v.Fields, drop) {
		v.Fields = slices.DeleteFunc(slices.Clone(v.Fields), drop)
	}
	return v
}

// withoutRefused reports the keys of AgentV that are refused and returns the mapping without them.
func withoutRefused(n source.Node) source.Value {
	var refused []string
	for _, f := range n.Fields {
		why := ""
		switch f.Name {
		case "workspace":
			why = "no file system is prepared for a test"
		case "preprocessors":
			why = "files are given to judges as they are"
		case "hooks":
			why = "no programs are run around a test"
		default:
			continue
		}
		refused = append(refused, f.Name)
		if n.Has(f.Name) {
			n.Field(f.Name).Report("remove `"+f.Name+":`", "%s is refused, since %s", f.Name, why)
		}
	}
	return without(n.Value, refused)
}

// skillTrigger is a type of assertion of AgentV, in snake case.
const skillTrigger = "skill_trigger"

// refuseSkillTrigger reports an assertion about the skills of a coding agent.
func refuseSkillTrigger(n source.Node) {
	n.Field("type").Report("remove this assertion", "skill-trigger is refused, since no coding agents are driven")
}

// withMetadata returns metadata with the value of a key that has no effect, unless the metadata have that name already.
func withMetadata(metadata map[string]any, name string, n source.Node) map[string]any {
	return merged(map[string]any{name: n.Any()}, metadata)
}

// merged returns both mappings in one; the entries of top win.
func merged(base, top map[string]any) map[string]any {
	all := maps.Clone(base)
	if all == nil {
		return top
	}
	maps.Copy(all, top)
	return all
}

// allAssertions returns the assertions of a test under all of their names, as one list in the order in which they are
// written.
func allAssertions(n source.Node) source.Node {
	var all source.Node
	for _, f := range n.Fields {
		if f.Name != "assertions" && !slices.Contains(otherAssertionKeys, f.Name) || !n.Has(f.Name) {
			continue
		}
		list := n.Field(f.Name)
		if f.Name == Rubrics {
			list = list.With(rubricsOf(list.Value))
		}
		if all.Kind == source.Null || list.Kind != source.List { // what is no list is reported by its reader
			all = list
		} else if all.Kind == source.List {
			v := all.Value
			v.Items = slices.Concat(v.Items, list.Items)
			all = all.With(v)
		}
	}
	return all
}

// rubricsOf returns a list of criteria as a list of one assertion. Plain texts stay as they are.
func rubricsOf(list source.Value) source.Value {
	if !slices.ContainsFunc(list.Items, func(v source.Value) bool { return v.Kind == source.Map }) {
		return list
	}
	one := source.Value{Kind: source.Map, Line: list.Line, Column: list.Column, Fields: []source.Field{
		{Name: "type", Value: source.Text(Rubrics), Line: list.Line, Column: list.Column},
		{Name: "criteria", Value: list, Line: list.Line, Column: list.Column},
	}}
	list.Items = []source.Value{one}
	return list
}

// attach puts the files of input_files before the text of a message.
func (l *loader) attach(files source.Node, c *chat.Content) {
	if files.Kind == source.Null {
		return
	}
	var blocks []chat.Block
	for name, at := range eachText(files) {
		blocks = append(blocks, chat.Block{Type: "file", Value: string(l.attachment(at, name, maxFileBytes))})
	}
	if c.Blocks == nil {
		c.Blocks = []chat.Block{{Type: "text", Value: c.Text}}
	}
	c.Text, c.Blocks = "", append(blocks, c.Blocks...)
}

// expectedMessage reads a message of an expected output: the text that the judge is shown, with the tool calls behind
// it. It is false for messages that are not the assistant's.
func (l *loader) expectedMessage(n source.Node) (text string, ok bool) {
	keys := struct {
		Role       string      `key:"role" enum:"system,user,assistant,tool"`
		Name       source.Node `key:"name"`
		Content    source.Node `key:"content"`
		ToolCalls  source.Node `key:"tool_calls"`
		ToolCallID string      `key:"tool_call_id"`
	}{}
	source.Decode(n, &keys)
	var parts []string
	if keys.Content.Kind != source.Null {
		parts = append(parts, l.content(keys.Content).String())
	}
	if keys.ToolCalls.Kind != source.Null {
		parts = append(parts, toolCallsOf(keys.ToolCalls))
	}
	if n.Kind == source.Map && len(parts) == 0 {
		n.Report("add `content:` or `tool_calls:`", "a message needs content")
	}
	return strings.Join(parts, "\n"), keys.Role == string(chat.Assistant)
}

// toolCallsOf returns the tool calls of an expected message as text for the judge, one a line.
func toolCallsOf(n source.Node) string {
	var lines []string
	for _, call := range n.List() {
		if call.Kind != source.Map {
			call.Report("write {tool: NAME, input: {…}}", "expected a tool call, got %s", call.Kind)
			continue
		}
		lines = append(lines, "tool call: "+asJSON(call.Value))
	}
	return strings.Join(lines, "\n")
}
