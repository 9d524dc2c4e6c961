package grader

import (
	"maps"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// object is a part of a JSON Schema.
type object = map[string]any

func ref(name string) object { return object{"$ref": "#/$defs/" + name} }

// Schemas returns the parts of a suite's JSON Schema that say what an assertion may look like, by their names in $defs.
// They are made of what the kinds ask for when they read an entry, so that the schema and the program know the same
// keys. The names text, texts, flag, span, assertions and name are those of the suite's own parts.
func Schemas() map[string]any {
	var rules []any
	defs := map[string]any{}
	for _, k := range Builtin() {
		name := "assertion_" + k.Name
		defs[name] = k.entry(false)
		closed := append([]string{k.Name}, k.Aliases...)
		if k.Free != "" {
			closed = slices.DeleteFunc(closed, func(alias string) bool { return alias == k.Free })
			defs[name+"_free"] = k.entry(true)
			rules = append(rules, object{"if": typed("^" + spelt(k.Free) + "$"), "then": ref(name + "_free")})
			rules = append(rules, object{"if": typed("^not[_-]" + spelt(k.Free) + "$"), "then": ref(name)})
		}
		rules = append(rules, object{"if": typed("^(not[_-])?" + spelt(closed...) + "$"), "then": ref(name)})
	}
	names := slices.Sorted(slices.Values(New(Config{}).Types()))
	defs["assertion_type"] = object{
		"description": "See `rehearse graders`. not_ before a type negates it; hyphens may stand for underscores.",
		"anyOf": []any{
			object{"enum": names},
			object{"type": "string", "pattern": "^(not[_-])?" + spelt(names...) + "$"},
		},
	}
	defs["assertion"] = object{
		"type": "object", "required": []string{"type"}, "properties": object{"type": ref("assertion_type")},
		"allOf": rules,
	}
	defs["assertion_keys"] = object{"description": "The keys of every assertion.", "properties": commonSchemas()}
	maps.Copy(defs, partSchemas())
	return defs
}

// typed is the condition that the type of an entry is written like this.
func typed(pattern string) object {
	return object{
		"required":   []string{"type"},
		"properties": object{"type": object{"type": "string", "pattern": pattern}},
	}
}

// spelt is a pattern of names, in which hyphens may stand for underscores.
func spelt(names ...string) string {
	return "(" + strings.ReplaceAll(strings.Join(names, "|"), "_", "[_-]") + ")"
}

// entry returns the schema of the kind's entries; those of a free one may have any other key.
func (k Kind) entry(free bool) object {
	keys := object{}
	for _, common := range commonFields {
		keys[common] = object{"$ref": "#/$defs/assertion_keys/properties/" + common}
	}
	var needs []any
	for _, p := range k.Params() {
		schema := p.schema()
		keys[p.Name] = schema
		if p.alias != "" {
			keys[p.alias] = object{
				"$ref":        "#/$defs/assertion_" + k.Name + "/properties/" + p.Name,
				"description": "Another name for " + p.Name + ".",
			}
		}
		switch {
		case !p.Required || !k.always(p):
		case p.alias != "":
			needs = append(needs, object{
				"anyOf": []any{object{"required": []string{p.Name}}, object{"required": []string{p.alias}}},
			})
		case slices.Contains(nullable, p.Kind):
			needs = append(needs, object{"required": []string{p.Name}, "properties": object{p.Name: true}})
		default:
			needs = append(needs, object{"required": []string{p.Name}})
		}
	}
	schema := object{"description": k.Doc, "properties": keys}
	if !free {
		schema["additionalProperties"] = false
	}
	if needs != nil {
		schema["allOf"] = needs
	}
	return schema
}

// always reports whether the kind needs a parameter whatever others the entry has.
func (k Kind) always(p Param) bool {
	entry := source.Value{Kind: source.Map}
	for _, other := range k.Params() {
		if other.Name != p.Name {
			entry.Fields = append(entry.Fields, source.Field{Name: other.Name, Value: source.Text("x")})
		}
	}
	again := k.paramsOf(entry)
	return slices.ContainsFunc(again, func(q Param) bool { return q.Name == p.Name && q.Required })
}

// nullable are the kinds of parameters for which null is a value of its own.
var nullable = []string{"text, null or list"}

// commonSchemas are those of commonFields.
func commonSchemas() object {
	return object{
		"type": ref("assertion_type"), "name": object{"$ref": "#/$defs/text", "description": "What reports call it."},
		"weight": object{"type": "number", "minimum": 0, "maximum": 1e6, "default": 1},
		"required": object{
			"description": "Fails the whole turn below its threshold (true) or below this score.",
			"oneOf":       []any{ref("flag"), object{"type": "number", "minimum": 0, "maximum": 1}},
		},
		"min_score": object{"type": "number", "minimum": 0, "maximum": 1, "description": "A lower score counts as 0."},
		"negate":    ref("flag"),
		"threshold": object{
			"type": "number", "minimum": 0, "maximum": 1, "description": "The score from which the assertion passes.",
		},
	}
}

// schema returns what a value of the parameter may look like.
func (p Param) schema() object {
	schema := maps.Clone(kindSchemas()[p.Kind])
	if schema == nil {
		schema = object{} // of a shape that only its reader knows
	}
	if p.shape["$ref"] != nil {
		schema = object{}
	}
	maps.Copy(schema, p.shape)
	schema["description"] = p.Doc
	return schema
}
