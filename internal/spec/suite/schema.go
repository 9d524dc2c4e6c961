package suite

import (
	_ "embed"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// shapes has what the tags of the keys do not: values of several forms, and keys that exclude each other.
//
//go:embed suite.schema.json
var shapes []byte

// assertionShapes are its $defs about assertions. Package grader makes them of its kinds; a test keeps the file so.
//
//go:embed assertion.schema.json
var assertionShapes []byte

// Schema returns the JSON Schema (2020-12) of a suite.
// It says what a file may look like; what keys mean together is checked by Load. It refuses nothing that Load accepts.
func Schema() []byte { return wholeSchema() }

var wholeSchema = sync.OnceValue(func() []byte {
	var whole, assertions map[string]any
	if err := json.Unmarshal(shapes, &whole); err != nil {
		panic(err) // the file is part of the program
	}
	if err := json.Unmarshal(assertionShapes, &assertions); err != nil {
		panic(err)
	}
	defs := whole["$defs"].(map[string]any)
	maps.Copy(defs, assertions)
	addObjects(defs)
	relax(whole)
	defs["unsaid"] = map[string]any{
		"description": "Nothing, as if the key were not there, or a placeholder that is filled in before the value is read.",
		"anyOf":       []any{map[string]any{"type": "null"}, map[string]any{"type": "string", "pattern": placeholderPattern}},
	}
	text, err := json.MarshalIndent(whole, "", "  ")
	if err != nil {
		panic(err)
	}
	return append(text, '\n')
})

// addObjects adds the mappings of a suite, whose keys are those of structs, to the definitions.
func addObjects(defs map[string]any) {
	objects := map[string]reflect.Type{
		"suite": reflect.TypeFor[suiteKeys](), "execution": reflect.TypeFor[suiteExecution](), "judge_keys": reflect.TypeFor[Judge](),
		"test": reflect.TypeFor[testKeys](), "turn": reflect.TypeFor[turnKeys](), "message": reflect.TypeFor[messageKeys](),
		"test_execution": reflect.TypeFor[testExecution](), "trials_keys": reflect.TypeFor[Trials](),
		"state": reflect.TypeFor[startKeys](), "memory": reflect.TypeFor[memory](), "fact": reflect.TypeFor[fact](),
		"chunk": reflect.TypeFor[chunk](), "quarantine": reflect.TypeFor[quarantineKeys](),
		"user": reflect.TypeFor[userKeys](), "named_user": reflect.TypeFor[namedUserKeys](),
		"user_list": reflect.TypeFor[usersKeys](), "user_part": reflect.TypeFor[partKeys](),
		"v1_suite": reflect.TypeFor[suiteKeysV1](), "v1_defaults": reflect.TypeFor[defaultKeysV1](),
		"v1_test": reflect.TypeFor[testKeysV1](), "v1_turn": reflect.TypeFor[turnKeysV1](),
	}
	names := map[reflect.Type]string{
		reflect.TypeFor[mapping](): "object", reflect.TypeFor[variables](): "object", reflect.TypeFor[Stubs](): "stubs",
	}
	for name, t := range objects {
		names[t] = name
	}
	for name, t := range objects {
		generated := source.Schema(t, names)
		if rules, ok := defs[name].(map[string]any); ok {
			generated = withRules(generated, rules)
		}
		defs[name] = generated
	}
}

// withRules returns a schema with more rules. Those of properties and required are added to its own.
func withRules(schema, rules map[string]any) map[string]any {
	for keyword, rule := range rules {
		switch keyword {
		case "properties":
			properties := schema[keyword].(map[string]any)
			for key, more := range rule.(map[string]any) {
				property := maps.Clone(properties[key].(map[string]any))
				maps.Copy(property, more.(map[string]any))
				properties[key] = property
			}
		case "required":
			own, _ := schema[keyword].([]any)
			schema[keyword] = append(own, rule.([]any)...)
		default:
			schema[keyword] = rule
		}
	}
	return schema
}

// placeholderPattern matches a text that holds a placeholder. numeralPattern also matches one that the program reads as
// a number.
const (
	placeholderPattern = `\{\{`
	numeralPattern     = `^\s*[-+]?[0-9._][-+0-9a-fA-FxXoOpP._]*$|\{\{`
)

// relax adds to a schema what holds for every value of a suite, and would be tiresome to say of each: a key that is
// null counts as absent, a placeholder may stand for any value, numbers may be written as text, and hyphens for
// underscores in the values that are listed.
func relax(schema map[string]any) {
	for name, part := range schema {
		switch name {
		case "if", "not":
			relaxPresence(part)
		case "const", "enum", "default", "required", "description", "type":
		default:
			relaxIn(name, part)
		}
	}
	present(schema)
}

// relaxIn relaxes what stands behind a keyword of a schema.
func relaxIn(keyword string, part any) {
	switch part := part.(type) {
	case []any:
		for _, each := range part {
			relaxIn("", each)
		}
	case map[string]any:
		switch keyword {
		case "properties", "patternProperties":
			for name, value := range part {
				part[name] = optional(value)
			}
		case "items", "additionalProperties":
			schema := optional(maps.Clone(part)).(map[string]any)
			if keyword == "items" {
				schema = notNull(schema)
			}
			clear(part)
			maps.Copy(part, schema)
		case "$defs":
			for _, value := range part {
				relaxIn("", value)
			}
		default:
			relax(part)
		}
	}
}

// present makes keys that are required keys that are not null. A key whose schema allows null on purpose stays so.
func present(schema map[string]any) {
	required, _ := schema["required"].([]any)
	properties, _ := schema["properties"].(map[string]any)
	for _, key := range required {
		if properties == nil {
			properties = map[string]any{}
			schema["properties"] = properties
		}
		name := key.(string)
		switch value := properties[name].(type) {
		case nil:
			properties[name] = map[string]any{"not": map[string]any{"type": "null"}}
		case map[string]any:
			properties[name] = notNull(value)
		}
	}
}

// relaxPresence relaxes a condition: only whether keys are there counts, and those that are null are not.
func relaxPresence(part any) {
	switch part := part.(type) {
	case []any:
		for _, each := range part {
			relaxPresence(each)
		}
	case map[string]any:
		present(part)
		relaxPresence(part["anyOf"])
	}
}

// optional returns the schema of a key's value, with all that may stand in its place.
func optional(value any) any {
	schema, ok := value.(map[string]any)
	if !ok {
		return value
	}
	relax(schema)
	kind, _ := schema["type"].(string)
	switch {
	case len(schema) == 0 || len(schema) == 1 && schema["description"] != nil:
		return schema // anything
	case kind == "number" || kind == "integer":
		schema["type"], schema["pattern"] = []any{kind, "string", "null"}, numeralPattern
		return schema
	case kind == "string" && schema["pattern"] == nil && schema["minLength"] == nil:
		schema["type"] = []any{kind, "number", "boolean", "null"} // every scalar can be read as text
		return schema
	}
	if choices, ok := schema["enum"].([]any); ok {
		schema["enum"] = spellings(choices)
	}
	own := maps.Clone(schema)
	wrapped := map[string]any{}
	for _, keyword := range []string{"description", "default"} {
		if said, ok := own[keyword]; ok {
			wrapped[keyword] = said
			delete(own, keyword)
		}
	}
	wrapped["anyOf"] = []any{own, map[string]any{"$ref": "#/$defs/unsaid"}}
	return wrapped
}

// notNull returns the schema of a value that must be there.
func notNull(schema map[string]any) map[string]any {
	if kinds, ok := schema["type"].([]any); ok {
		schema["type"] = slices.DeleteFunc(kinds, func(k any) bool { return k == "null" })
		return schema
	}
	if ways, ok := schema["anyOf"].([]any); ok && len(ways) == 2 {
		if last, _ := ways[1].(map[string]any); last["$ref"] == "#/$defs/unsaid" {
			ways[1] = map[string]any{"type": "string", "pattern": placeholderPattern}
		}
	}
	return schema
}

// spellings adds the spellings with hyphens to values that are listed.
func spellings(choices []any) []any {
	for _, choice := range slices.Clone(choices) {
		text, _ := choice.(string)
		if hyphens := strings.ReplaceAll(text, "_", "-"); hyphens != text && !slices.Contains(choices, any(hyphens)) {
			choices = append(choices, hyphens)
		}
	}
	return choices
}
