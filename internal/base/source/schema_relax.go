package source

import (
	"maps"
	"slices"
	"strings"
)

// placeholderPattern matches a text with a placeholder. numeralPattern matches one that the program reads as a number.
const (
	placeholderPattern = `\{\{`
	numeralPattern     = `^\s*[-+]?[0-9._][-+0-9a-fA-FxXoOpP._]*$`
)

// Relax adds to the schema of a document what every value may be: a key that is null counts as absent, numbers may be
// written as text, and hyphens for underscores in the values of enumerations. In a document with placeholders, one may
// replace any value, and a null counts as absent also under names that the author chooses.
func Relax(document map[string]any, placeholders bool) {
	r := relaxer{placeholders, numeralPattern}
	absent := map[string]any{"description": "Nothing, as if the key were not there.", "type": "null"}
	if placeholders {
		r.numeral += "|" + placeholderPattern
		absent = map[string]any{
			"description": "Nothing, as if the key were not there, or a placeholder that is filled in before the " +
				"value is read.",
			"anyOf": []any{
				map[string]any{"type": "null"},
				map[string]any{"type": "string", "pattern": placeholderPattern},
			},
		}
	}
	r.relax(document)
	document["$defs"].(map[string]any)["absent"] = absent
}

type relaxer struct {
	placeholders bool
	numeral      string // pattern
}

func (r relaxer) relax(schema map[string]any) {
	for name, part := range schema {
		switch name {
		case "if", "not":
			r.relaxPresence(part)
		case "const", "enum", "default", "required", "description", "type":
		default:
			r.relaxIn(name, part)
		}
	}
	r.present(schema)
}

// relaxIn relaxes what stands behind a keyword of a schema.
func (r relaxer) relaxIn(keyword string, part any) {
	switch part := part.(type) {
	case []any:
		for _, each := range part {
			r.relaxIn("", each)
		}
	case map[string]any:
		switch keyword {
		case "properties", "patternProperties":
			for name, value := range part {
				part[name] = r.optional(value)
			}
		case "items", "additionalProperties":
			schema := r.optional(maps.Clone(part)).(map[string]any)
			if keyword == "items" || !r.placeholders {
				schema = r.notNull(schema)
			}
			clear(part)
			maps.Copy(part, schema)
		case "$defs":
			for _, value := range part {
				r.relaxIn("", value)
			}
		default:
			r.relax(part)
		}
	}
}

// present makes keys that are required keys that are not null. A key whose schema allows null on purpose stays so.
func (r relaxer) present(schema map[string]any) {
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
			properties[name] = r.notNull(value)
		}
	}
}

// relaxPresence relaxes a condition: only whether keys are there counts, and those that are null are not.
func (r relaxer) relaxPresence(part any) {
	switch part := part.(type) {
	case []any:
		for _, each := range part {
			r.relaxPresence(each)
		}
	case map[string]any:
		r.present(part)
		r.relaxPresence(part["anyOf"])
	}
}

// optional returns the schema of a key's value, with all that may stand in its place.
func (r relaxer) optional(value any) any {
	schema, ok := value.(map[string]any)
	if !ok {
		return value
	}
	r.relax(schema)
	kind, _ := schema["type"].(string)
	switch {
	case len(schema) == 0 || len(schema) == 1 && schema["description"] != nil:
		return schema // anything
	case kind == "number" || kind == "integer":
		schema["type"], schema["pattern"] = []any{kind, "string", "null"}, r.numeral
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
		if value, ok := own[keyword]; ok {
			wrapped[keyword] = value
			delete(own, keyword)
		}
	}
	wrapped["anyOf"] = []any{own, map[string]any{"$ref": "#/$defs/absent"}}
	return wrapped
}

// notNull returns the schema of a value that must be there.
func (r relaxer) notNull(schema map[string]any) map[string]any {
	if kinds, ok := schema["type"].([]any); ok {
		schema["type"] = slices.DeleteFunc(kinds, func(k any) bool { return k == "null" })
		return schema
	}
	if ways, ok := schema["anyOf"].([]any); ok && len(ways) == 2 {
		if last, _ := ways[1].(map[string]any); last["$ref"] == "#/$defs/absent" {
			if !r.placeholders {
				delete(schema, "anyOf")
				maps.Copy(schema, ways[0].(map[string]any))
				return schema
			}
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
