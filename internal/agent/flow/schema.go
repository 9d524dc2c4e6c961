package flow

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// Schema returns the JSON Schema (2020-12) of flows, of node flows and state machines. It accepts every flow that Load
// accepts, and more: that nodes and states exist, for instance, is not a matter of a schema.
func Schema() []byte {
	type object = map[string]any
	type list = []any
	ref := func(name string) object { return object{"$ref": "#/$defs/" + name} }
	array := func(name string) object { return object{"type": "array", "items": ref(name)} }
	anyOf := func(keys ...string) object { // one of the keys is there
		var ways list
		for _, key := range keys {
			ways = append(ways, object{"required": list{key}})
		}
		return object{"anyOf": ways}
	}
	with := func(rules, more object) object {
		maps.Copy(rules, more)
		return rules
	}
	when := func(then object, types ...any) object {
		return object{
			"if": object{"required": list{"type"}, "properties": object{"type": object{"enum": types}}}, "then": then,
		}
	}
	// compare is when, for a condition without an operator, which may also be its type.
	compare := func(then object, types ...any) object {
		rule := when(then, types...)
		rule["if"].(object)["not"] = object{"required": list{"operator"}}
		return rule
	}
	names := object{"pattern": remoteName().String(), "not": object{"enum": reservedNames}}
	scalar, nullable := list{"string", "number", "boolean"}, list{"string", "number", "boolean", "null"}
	none := func() object { return object{"type": "array", "maxItems": 0} }
	defs := object{
		"condition": object{
			"description": "a comparison of a field or of the user's message",
			"anyOf":       list{object{"const": Always}, ref("condition_keys")},
		},
		"condition_keys": with(anyOf("type", "operator"), object{"allOf": list{
			compare(anyOf("conditions", "condition"), And, Or, Not),
			compare(anyOf(keyNames[conditionKeys]("value")...), Equals, Contains, Matches),
			compare(anyOf(keyNames[conditionKeys]("field")...), Exists),
		}}),
		"conditions": object{"anyOf": list{ref("condition_keys"), array("condition")}},
		"fact_condition": object{
			"$ref": "#/$defs/condition_keys",
			"not":  object{"required": list{"type"}, "properties": object{"type": object{"const": Always}}},
		},
		"operator": object{"type": "string", "pattern": operatorPattern()},
		"values":   object{"type": list{"string", "number", "boolean", "array"}, "items": object{"type": nullable}},
		"rule": object{"anyOf": list{
			object{"type": "object", "required": list{"type"}, "properties": object{"type": object{"const": "model"}}},
			ref("condition"),
		}},
		"target": object{"type": nullable, "minLength": 1},
		"option": object{
			"required":   list{"id", "label", "next"},
			"properties": object{"id": object{"minLength": 1, "not": object{"enum": list{Stay, -1}}}},
		},
		"options": object{"type": "array", "items": object{
			"$ref": "#/$defs/option", "properties": object{"next": object{"not": object{"const": toStart}}},
		}},
		"globals":  with(array("option"), object{"maxItems": maxGlobals}),
		"no_match": object{"required": list{"max", "next"}},
		"node_id":  object{"type": scalar, "pattern": nodeID().String()},
		"next":     object{"type": list{"string", "number", "boolean", "array"}, "items": ref("text")},
		"node": object{"required": list{"id", "type"}, "allOf": list{
			when(object{
				"required":   list{"next"},
				"properties": object{"next": object{"type": "array", "minItems": 1}, "options": none()},
				"not":        anyOf("no_match", "globals", "tools", "flow"),
			}, Start),
			when(object{
				"required": list{"options"}, "properties": object{"options": object{"minItems": 1}},
				"not": anyOf("next", "flow"),
			}, Conversation),
			when(object{
				"required": list{"flow", "next"}, "properties": object{"next": ref("target")},
				"not": anyOf("options", "prompt", "tools", "no_match", "globals"),
			}, Call),
			when(object{
				"properties": object{"next": none(), "options": none()},
				"not":        anyOf("no_match", "globals", "tools", "flow"),
			}, Stop),
		}},
		"nodes":      with(array("node"), object{"minItems": 1}),
		"tool_names": array("name"),
		"span": object{"anyOf": list{
			object{"type": "number", "exclusiveMinimum": 0, "maximum": maxCallTimeout.Seconds()},
			object{
				"type":    "string",
				"pattern": `^\+?([0-9.]+(ns|us|µs|μs|ms|s|m|h))+$|^\+?[0-9._][-+0-9a-fA-FxXoOpP._]*$`,
			},
		}},
		"headers": object{
			"type": "object", "propertyNames": object{"pattern": headerName().String()},
			"additionalProperties": object{"type": nullable, "pattern": `^[^\r\n\x00]*$`},
		},
		"url": object{
			"description": "an address such as https://api.example.com/orders/{order}",
			"type":        "string", "pattern": "^https?://[^/{]+(/|$)",
		},
		"parameters": object{
			"type": "object", "required": list{"type"}, "properties": object{"type": object{"const": "object"}},
		},
		"save": object{
			"type": "object", "additionalProperties": object{"type": scalar, "minLength": 1},
		},
		"tool": object{"required": list{"url"}},
		"api":  object{"required": list{"url"}},
		"tools": object{
			"type": "object", "additionalProperties": ref("tool"), "propertyNames": names, "maxProperties": maxRemotes,
		},
		"apis": object{
			"type": "object", "additionalProperties": ref("api"), "propertyNames": maps.Clone(names),
			"maxProperties": maxRemotes,
		},
		"button":      object{"anyOf": list{object{"type": nullable}, ref("button_keys")}},
		"button_list": array("button"),
		"message":     object{"anyOf": list{ref("text"), ref("message_keys")}},
		"action": with(anyOf(keyNames[actionKeys]("target")...), object{
			"required": list{"type"},
			"allOf":    list{when(anyOf(keyNames[actionKeys]("validation")...), Validate)},
		}),
		"state": object{"required": list{"type"}},
		"states": object{
			"type": "object", "minProperties": 1, "additionalProperties": ref("state"),
			"propertyNames": object{"pattern": `\S`, "maxLength": maxName},
		},
		"metadata": object{"type": "object", "properties": object{
			"progress":        object{"description": "how far the conversation is in this state, from 0 to 1"},
			"skip_conditions": with(array("condition"), object{"description": "the state is skipped if one is true"}),
		}},
		"transition":  object{"required": list{"from", "to"}},
		"transitions": array("transition"),
		"node_flow":   object{"required": list{"id", "nodes"}, "properties": object{"id": object{"minLength": 1}}},
		"machine":     with(anyOf(keyNames[machineKeys]("id")...), object{"required": list{"initial_state", "states"}}),
	}
	structs := map[string]reflect.Type{
		"machine": reflect.TypeFor[machineKeys](), "state": reflect.TypeFor[stateKeys](),
		"message_keys": reflect.TypeFor[stateMessage](), "button_keys": reflect.TypeFor[Button](),
		"transition": reflect.TypeFor[transitionKeys](), "action": reflect.TypeFor[actionKeys](),
		"validation": reflect.TypeFor[validationKeys](), "node_flow": reflect.TypeFor[nodeFlowKeys](),
		"node": reflect.TypeFor[nodeKeys](), "option": reflect.TypeFor[optionKeys](),
		"no_match": reflect.TypeFor[noMatchKeys](), "condition_keys": reflect.TypeFor[conditionKeys](),
		"tool": reflect.TypeFor[toolKeys](), "api": reflect.TypeFor[apiKeys](),
	}
	source.AddSchemas(defs, structs, map[reflect.Type]string{
		reflect.TypeFor[stateMessage](): "message", reflect.TypeFor[Action](): "action",
		reflect.TypeFor[Validation](): "validation",
	})
	for name := range structs {
		delete(defs[name].(object), "additionalProperties") // unknown keys are warnings
	}
	document := object{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "urn:rehearse:schema:flow", "title": "A flow",
		"description": "A conversation as a graph: a node flow (id, nodes), or a state machine (initial_state, " +
			"states, transitions; also below the key flow). Unknown keys are ignored with a warning. A file may " +
			"have several flows, as documents with --- between them.",
		"type": "object", "if": object{"required": list{"flow"}},
		"then": object{"properties": object{"flow": ref("machine")}},
		"else": object{
			"if": object{"required": list{"states"}}, "then": ref("machine"), "else": ref("node_flow"),
		},
		"$defs": defs,
	}
	source.Relax(document, false)
	text, err := json.MarshalIndent(document, "", " ")
	if err != nil {
		panic(err) // values of JSON
	}
	return append(text, '\n')
}

// keyNames returns all names of a key of a struct.
func keyNames[T any](key string) []string {
	var names []string
	for name, of := range source.KeyNames[T]() {
		if of == key {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// operatorPattern matches the spellings of operators, in upper and lower case.
func operatorPattern() string {
	names := append(slices.Collect(maps.Keys(operators)), string(And), string(Or), string(Not))
	slices.Sort(names)
	var pattern strings.Builder
	for _, r := range strings.Join(names, "|") {
		if upper := strings.ToUpper(string(r)); upper != string(r) {
			pattern.WriteString("[" + string(r) + upper + "]")
			continue
		}
		pattern.WriteRune(r)
	}
	return "^(" + pattern.String() + ")$"
}
