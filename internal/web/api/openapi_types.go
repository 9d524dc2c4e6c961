package api

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/runspec"
)

// written returns the schemas of types whose JSON differs from their Go fields.
func written() map[reflect.Type]*jsonschema.Schema {
	text := &jsonschema.Schema{Type: "string"}
	whole := &jsonschema.Schema{Type: "integer"}
	object := &jsonschema.Schema{Type: "object"}
	all := map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[time.Time]():        {Type: "string", Format: "date-time"},
		reflect.TypeFor[json.RawMessage]():  {},
		reflect.TypeFor[runspec.Duration](): {Type: "string", Description: "a number and a unit, such as 90s"},
		reflect.TypeFor[runspec.Age]():      {Type: "string", Description: "a number and a unit, such as 30d"},
		reflect.TypeFor[runspec.File](): {AnyOf: []*jsonschema.Schema{
			{Type: "string", Description: "its text"}, required("base64", text), required("sha256", text),
		}},
		reflect.TypeFor[chat.Content](): {AnyOf: []*jsonschema.Schema{text, {Type: "array", Items: object}}},
		reflect.TypeFor[chat.Cost](): {
			Types: []string{"null", "number"}, Description: "US dollars; null where unknown",
		},
		reflect.TypeFor[chat.Usage](): {
			Types: []string{"null", "object"}, Required: []string{"input_tokens", "output_tokens"},
			Properties: map[string]*jsonschema.Schema{
				"input_tokens": whole, "output_tokens": whole, "cached_tokens": whole, "reasoning_tokens": whole,
			},
			Description: "null where unknown",
		},
		reflect.TypeFor[result.Verdict]():         closed(result.Verdicts...),
		reflect.TypeFor[result.Status]():          closed(result.OK, result.QualityFailure, result.ExecutionError),
		reflect.TypeFor[result.Class]():           {Types: []string{"null", "string"}},
		reflect.TypeFor[result.UserEnd]():         {Types: []string{"null", "string"}},
		reflect.TypeFor[map[result.Code]int]():    {Type: "object", AdditionalProperties: whole},
		reflect.TypeFor[map[result.UserEnd]int](): {Type: "object", AdditionalProperties: whole},
		reflect.TypeFor[result.Change]():          object,
		reflect.TypeFor[flow.Message]():           object,
		reflect.TypeFor[flow.Memory]():            object,
	}
	// The use of a judge has those of its models in it.
	all[reflect.TypeFor[result.JudgeUse]()] = &jsonschema.Schema{
		Type: "object", Required: []string{"calls", "cache_hits", "usage", "cost_usd"},
		AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
		Properties: map[string]*jsonschema.Schema{
			"calls": whole, "cache_hits": whole, "usage": all[reflect.TypeFor[chat.Usage]()],
			"cost_usd": all[reflect.TypeFor[chat.Cost]()], "models": object,
		},
	}
	// A score that could not be graded is null.
	if score, err := jsonschema.For[result.Score](&jsonschema.ForOptions{TypeSchemas: all}); err == nil {
		score.Properties["score"] = &jsonschema.Schema{Types: []string{"null", "number"}}
		all[reflect.TypeFor[result.Score]()] = score
	}
	// A result adds these members to its record.
	if record, err := jsonschema.For[result.Test](&jsonschema.ForOptions{TypeSchemas: all}); err == nil {
		record.Properties["id"], record.Properties["seq"], record.Properties["worker"] = text, whole, text
		record.Required = append(record.Required, "id", "seq", "worker")
		all[reflect.TypeFor[resultView]()] = record
	}
	return all
}

// closed is one of a closed list of words.
func closed[T ~string](words ...T) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, word := range words {
		s.Enum = append(s.Enum, string(word))
	}
	return s
}

// required is an object with one member.
func required(name string, of *jsonschema.Schema) *jsonschema.Schema {
	return &jsonschema.Schema{
		Type: "object", Required: []string{name}, Properties: map[string]*jsonschema.Schema{name: of},
	}
}

// published returns a schema given as JSON, after it moves the schema's $defs into the document's components.
func (d *Document) published(written json.RawMessage) (any, error) {
	var whole map[string]any
	if err := json.Unmarshal(written, &whole); err != nil {
		return nil, fmt.Errorf("a published schema: %w", err)
	}
	id, _ := whole["$id"].(string)
	prefix, _, _ := strings.Cut(id, ".")
	parts, _ := whole["$defs"].(map[string]any)
	for _, key := range []string{"$id", "$schema", "$defs"} {
		delete(whole, key)
	}
	for name, part := range parts {
		d.Components.Schemas[prefix+"-"+name] = relinked(part, prefix)
	}
	return relinked(whole, prefix), nil
}

// relinked returns value, in which it replaces references to $defs by those to components.
func relinked(value any, prefix string) any {
	switch v := value.(type) {
	case map[string]any:
		for key, member := range v {
			if at, is := member.(string); key == "$ref" && is {
				v[key] = strings.Replace(at, "#/$defs/", "#/components/schemas/"+prefix+"-", 1)
				continue
			}
			v[key] = relinked(member, prefix)
		}
	case []any:
		for i := range v {
			v[i] = relinked(v[i], prefix)
		}
	}
	return value
}

// open lets objects have members that are not described.
func open(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if s.Properties != nil {
		s.AdditionalProperties = nil
	}
	for _, member := range s.Properties {
		open(member)
	}
	for _, choice := range s.AnyOf {
		open(choice)
	}
	open(s.Items)
	open(s.AdditionalProperties)
}

// componentName returns the name of a type in the document, such as Run for store.Run, RunPage for
// store.Page[store.Run] and ReplayRun for replay.Run; empty for a type without a name.
func componentName(t reflect.Type) string {
	name, place, outer := t.Name(), t.PkgPath(), ""
	if cut, inner, generic := strings.Cut(name, "["); generic {
		outer, inner = cut, strings.TrimSuffix(inner, "]")
		dot := strings.LastIndexByte(inner, '.')
		place, name = inner[:dot], inner[dot+1:]
	}
	if name == "" {
		return ""
	}
	name = strings.TrimSuffix(name, "View")
	room := place[strings.LastIndexByte(place, '/')+1:]
	switch {
	case room == "result":
		name += "Record"
	case name == "Report" || name == "Run" && room != "store":
		name = room + name
	}
	name += outer
	return strings.ToUpper(name[:1]) + name[1:]
}
