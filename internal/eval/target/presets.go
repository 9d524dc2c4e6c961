package target

import (
	"slices"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// Preset is a target as many agents are spoken with, to which a configuration adds what is its own.
type Preset struct {
	Name string
	// YAML is the mapping that the preset stands for.
	YAML string
}

// Presets returns the table of presets, sorted by name.
func Presets() []Preset {
	return []Preset{
		{"a2a", `kind: a2a
`},
		{"ai-sdk", `kind: http
body:
  id: "{{conversation_id}}"
  trigger: submit-message
  messages: "{{messages_parts}}"
stream:
  format: sse
  text: {path: $.delta, if: {$.type: text-delta}}
  error: {path: $.errorText, if: {$.type: error}, or: the stream says that it failed}
  end: {data: "[DONE]"}
answer:
  tool_calls: {path: $, if: {$.type: tool-input-available}, name: $.toolName, args: $.input, id: $.toolCallId}
  finish_reason: {path: $.finishReason, if: {$.type: finish}}
  error: {path: $.reason, if: {$.type: abort}, or: abort}
`},
		{"langgraph", `kind: http
with:
  assistant_id: agent
open:
  path: /threads
  body: {}
  session: {path: $.thread_id}
path: /threads/{{session_id}}/runs/wait
body:
  assistant_id: "{{with.assistant_id}}"
  input: {messages: [{role: user, content: "{{message}}"}]}
answer:
  text: $.messages[-1].content
  tool_calls: {path: "$.messages[*].tool_calls[*]", id: $.id, cumulative: true}
  state: $
  error: $.__error__
`},
		{"openai", `kind: http
path: /chat/completions
body:
  model: "{{with.model}}"
  messages: "{{messages}}"
answer:
  text: $.choices[0].message.content
  tool_calls: {path: "$.choices[0].message.tool_calls[*]", name: $.function.name, args: $.function.arguments, id: $.id}
  usage: {input_tokens: $.usage.prompt_tokens, output_tokens: $.usage.completion_tokens}
  finish_reason: $.choices[0].finish_reason
`},
		{"rasa", `kind: http
path: /webhooks/rest/webhook
body:
  sender: "{{conversation_id}}"
  message: "{{message}}"
answer:
  text: {path: "$[*].text", join: "\n\n", or: ""}
  error: "$['message', 'error', 'reason', 'status']"
`},
		{"responses", `kind: http
path: /responses
body:
  model: "{{with.model}}"
  input: "{{message}}"
  previous_response_id: "{{session_id}}"
session: {path: $.id, update: every}
answer:
  text: "$.output[?@.type == 'message'].content[?@.type == 'output_text'].text"
  tool_calls: {path: "$.output[?@.type == 'function_call']", name: $.name, args: $.arguments, id: $.call_id}
  usage: {input_tokens: $.usage.input_tokens, output_tokens: $.usage.output_tokens}
  error: $.error
`},
	}
}

// PresetNames returns the names of the presets, sorted.
func PresetNames() []string {
	var names []string
	for _, p := range Presets() {
		names = append(names, p.Name)
	}
	return names
}

// presetOf returns the mapping of the preset that a target names. An unknown one is reported.
func presetOf(n source.Node) (mapping source.Value, ok bool) {
	if !n.Has("preset") {
		return source.Value{}, false
	}
	at := n.Field("preset")
	name := at.Text()
	i := slices.IndexFunc(Presets(), func(p Preset) bool { return p.Name == name })
	if i < 0 {
		at.Report(source.Suggest(name, PresetNames()), "there is no preset called %q", name)
		return source.Value{}, false
	}
	mapping, err := source.ParseYAML("preset "+name, []byte(Presets()[i].YAML))
	if err != nil { // a test reads them all
		at.Report("", "the preset %s: %v", name, err)
		return source.Value{}, false
	}
	return placed(mapping, at.Line, at.Column), true
}

// presetKind returns the kind of the targets that a preset makes. That of an unknown one is http, which reports it.
func presetKind(name string) string {
	if name == "a2a" {
		return "a2a"
	}
	return "http"
}

// without returns a mapping without one of its entries.
func without(v source.Value, name string) source.Value {
	v.Fields = slices.DeleteFunc(slices.Clone(v.Fields), func(f source.Field) bool { return f.Name == name })
	return v
}

// placed returns a value all of which stands at one place.
func placed(v source.Value, line, column int) source.Value {
	v.Line, v.Column = line, column
	v.Items, v.Fields = slices.Clone(v.Items), slices.Clone(v.Fields)
	for i := range v.Items {
		v.Items[i] = placed(v.Items[i], line, column)
	}
	for i := range v.Fields {
		v.Fields[i].Line, v.Fields[i].Column = line, column
		v.Fields[i].Value = placed(v.Fields[i].Value, line, column)
	}
	return v
}

// overPreset returns a target's mapping with what it leaves open from its preset. Headers, body, answer and with are
// taken key by key.
func overPreset(n source.Node) source.Node {
	preset, ok := presetOf(n)
	if !ok {
		return n
	}
	var fields []source.Field
	for _, f := range preset.Fields {
		if own, written := n.Get(f.Name); !written {
			fields = append(fields, f)
		} else if f.Name == "headers" || f.Name == "body" || f.Name == "answer" || f.Name == "with" {
			if f.Name == "answer" && own.Kind == source.String {
				own = source.Value{Kind: source.Map, Line: own.Line, Column: own.Column, Fields: []source.Field{{
					Name: "text", Line: own.Line, Column: own.Column, Value: own,
				}}}
			}
			f.Value = keyByKey(f.Value, own)
			fields = append(fields, f)
		}
	}
	for _, f := range n.Fields {
		if f.Name == "preset" || slices.ContainsFunc(fields, func(known source.Field) bool {
			return known.Name == f.Name
		}) {
			continue
		}
		fields = append(fields, f)
	}
	whole := n.Value
	whole.Fields = fields
	return n.With(whole)
}

// keyByKey returns a mapping with the entries of another added or in place of its own. Anything but two mappings is
// replaced.
func keyByKey(base, own source.Value) source.Value {
	if base.Kind != source.Map || own.Kind != source.Map {
		return own
	}
	base.Fields = slices.Clone(base.Fields)
	for _, f := range own.Fields {
		i := slices.IndexFunc(base.Fields, func(known source.Field) bool { return known.Name == f.Name })
		if i < 0 {
			base.Fields = append(base.Fields, f)
			continue
		}
		base.Fields[i] = f
	}
	return base
}
