package source

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"time"
)

// Schema returns the JSON Schema (2020-12) of the keys that Decode reads into a struct. It refers to definitions of the
// document: those that the tag schema names, those of the types in names, span (a duration), and those that AddSchemas
// adds: text (any scalar), texts (one or a list), name (a text that is not blank) and flag (true or false). A key of a
// type that reads itself needs one of the first two. Keys with schema:"-" and removed ones are left out.
func Schema(t reflect.Type, names map[reflect.Type]string) map[string]any {
	p := planOf(t)
	properties, required := map[string]any{}, []any{}
	for _, f := range p.fields {
		if f.removed != "" || f.schema == "-" {
			continue
		}
		of := f.schemaOf(t.FieldByIndex(f.index).Type, names)
		for _, alias := range f.aliases {
			properties[alias] = described(of, "another name for "+f.name)
		}
		properties[f.name] = described(of, f.doc)
		if f.required != "" && len(f.aliases) == 0 {
			required = append(required, f.name)
		}
	}
	schema := map[string]any{"type": "object", "additionalProperties": false, "properties": properties}
	if len(required) > 0 {
		schema["required"] = required
	}
	return schema
}

// described returns a schema with a description.
func described(schema map[string]any, doc string) map[string]any {
	if doc == "" {
		return schema
	}
	schema = maps.Clone(schema)
	schema["description"] = doc
	return schema
}

var (
	durationType = reflect.TypeFor[time.Duration]()
	nodeType     = reflect.TypeFor[Node]()
	decoderType  = reflect.TypeFor[Decoder]()
)

func (f *field) schemaOf(t reflect.Type, names map[reflect.Type]string) map[string]any {
	refer := func(name string) map[string]any { return map[string]any{"$ref": "#/$defs/" + name} }
	list := func(of map[string]any) map[string]any { return map[string]any{"type": "array", "items": of} }
	switch {
	case f.schema != "" && t.Kind() == reflect.Slice && t.Elem() == nodeType:
		return list(refer(f.schema))
	case f.schema != "":
		return refer(f.schema)
	case names[t] != "":
		return refer(names[t])
	case t.Kind() == reflect.Pointer:
		return f.schemaOf(t.Elem(), names)
	case t == nodeType || t.Kind() == reflect.Interface:
		return map[string]any{}
	case reflect.PointerTo(t).Implements(decoderType):
		panic(fmt.Sprintf("source: the key %s of the type %s needs a tag schema", f.name, t))
	case t == durationType:
		return refer("span")
	}
	switch t.Kind() {
	case reflect.String:
		switch {
		case f.enum != nil:
			choices := []any{}
			for _, choice := range f.enum {
				choices = append(choices, choice)
			}
			if slices.Contains(f.enum, "on") {
				choices = append(choices, true, false, "true", "false")
			}
			return map[string]any{"enum": choices}
		case f.notBlank:
			return refer("name")
		}
		return refer("text")
	case reflect.Bool:
		return refer("flag")
	case reflect.Int:
		return f.bounded("integer")
	case reflect.Float64:
		return f.bounded("number")
	case reflect.Slice:
		if t.Elem().Kind() == reflect.String && f.enum == nil {
			return refer("texts")
		}
		return list(f.schemaOf(t.Elem(), names))
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": f.schemaOf(t.Elem(), names)}
	case reflect.Struct:
		return Schema(t, names)
	}
	panic(fmt.Sprintf("source: the key %s of the type %s has no schema", f.name, t))
}

// bounded returns the schema of a number.
func (f *field) bounded(kind string) map[string]any {
	schema := map[string]any{"type": kind}
	if !math.IsInf(f.low, -1) {
		schema["minimum"] = f.low
	}
	if !math.IsInf(f.high, 1) {
		schema["maximum"] = f.high
	}
	if f.above != nil {
		schema["exclusiveMinimum"] = *f.above
	}
	return schema
}

// AddSchemas adds the schemas of structs to the definitions of a document, each by its name, and the definitions text,
// texts, name and flag. A definition with the name of a struct has further rules of it. Names are those of other
// definitions by their types; they override those of the structs.
func AddSchemas(defs map[string]any, structs map[string]reflect.Type, names map[reflect.Type]string) {
	text := map[string]any{"$ref": "#/$defs/text"}
	maps.Copy(defs, map[string]any{
		"text": map[string]any{"type": []any{"string", "number", "boolean"}},
		"texts": map[string]any{
			"anyOf": []any{text, map[string]any{"type": "array", "items": maps.Clone(text)}},
		},
		"name": map[string]any{"type": []any{"string", "number", "boolean"}, "pattern": `\S`},
		"flag": map[string]any{"enum": []any{true, false, "true", "false"}},
	})
	all := map[reflect.Type]string{}
	for name, t := range structs {
		all[t] = name
	}
	maps.Copy(all, names)
	for name, t := range structs {
		schema := Schema(t, all)
		if rules, ok := defs[name].(map[string]any); ok {
			schema = withRules(schema, rules)
		}
		defs[name] = schema
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
