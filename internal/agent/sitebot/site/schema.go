package site

import (
	"encoding/json"
	"reflect"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// Schema returns the JSON Schema (2020-12) of a site's file. It accepts every file that Load accepts, and more: that
// names are unique, for instance, is not a matter of a schema.
func Schema() []byte {
	type object = map[string]any
	type list = []any
	ref := func(name string) object { return object{"$ref": "#/$defs/" + name} }
	// trimmed returns a pattern that also matches texts with white space at their ends.
	trimmed := func(pattern string) string {
		const space = "[\\s\v\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]*"
		return "^" + space + "(" + pattern + ")" + space + "$"
	}
	const id = "[A-Za-z][A-Za-z0-9_.-]{0,63}"
	scalar := list{"string", "number", "boolean"}
	hostName := trimmed("[^\\s!-,/:-@\\[-^`{-\x7f]+") // visible ASCII is letters, digits, dots, - and _
	var known list
	for _, name := range sources {
		known = append(known, name)
	}
	defs := object{
		"host": object{"description": "a host name such as acme.example", "type": scalar, "pattern": hostName},
		"hosts": object{"anyOf": list{
			object{"type": "string", "pattern": hostName}, object{"type": "array", "items": ref("host")},
		}},
		"language": object{"type": "string", "pattern": trimmed("[A-Za-z\u0130\u212a]{2,3}([-_][\\s\\S]*)?")},
		"zone":     object{"description": "a name of the IANA table", "type": "string", "pattern": `\S`},
		"prompt": object{
			"description": "the name of a prompt, such as response-agents/answer/template; it may have {agent} and " +
				"{site}",
			"type": scalar, "pattern": trimmed("[^\\s!-,:-@\\[-^`|~\x7f]+"),
		},
		"id":               object{"type": list{"string", "boolean"}, "pattern": trimmed(id)},
		"choices":          object{"type": "array", "minItems": 1, "items": ref("name")},
		"starters":         object{"type": "array", "maxItems": maxStarters, "items": ref("name")},
		"interest_signals": object{"properties": object{"threshold": object{"maximum": maxScore}}},
		"url":              object{"type": "string", "pattern": trimmed("[Hh][Tt][Tt][Pp][Ss]?://.+")},
		"https_url":        object{"type": "string", "pattern": trimmed("[Hh][Tt][Tt][Pp][Ss]://.+")},
		"form_fields": object{
			"type": "object", "propertyNames": object{"pattern": "^" + id + "$"}, "additionalProperties": ref("name"),
		},
		"booking": object{"properties": object{"fields": object{"minItems": 1}}},
		"booking_field": object{"anyOf": list{
			object{"type": "string", "pattern": trimmed(id)}, ref("booking_field_keys"),
		}},
		"knowledge_base": object{"anyOf": list{
			object{"description": "a folder", "type": "string", "pattern": `\S`}, ref("knowledge_base_keys"),
		}},
		"sources": object{"type": "array", "uniqueItems": true, "items": object{"enum": known}},
		"env": object{
			"description": "the name of an environment variable, never its value",
			"type":        list{"string", "boolean"}, "pattern": trimmed("[A-Za-z_][A-Za-z0-9_]*"),
		},
		"color": object{"type": "string", "pattern": trimmed("#[0-9A-Fa-f]{6}")},
		"widget": object{"not": object{
			"required": list{"color"}, "properties": object{"color": object{"type": "null"}}, // a # begins a comment
		}},
	}
	source.AddSchemas(defs, map[string]reflect.Type{
		"site": reflect.TypeFor[fileKeys](), "prompts": reflect.TypeFor[promptKeys](),
		"form": reflect.TypeFor[Form](), "field_group": reflect.TypeFor[FieldGroup](),
		"field": reflect.TypeFor[fieldKeys](), "interest_signals": reflect.TypeFor[InterestSignals](),
		"signal": reflect.TypeFor[Signal](), "cta": reflect.TypeFor[ctaKeys](), "booking": reflect.TypeFor[Booking](),
		"booking_field_keys": reflect.TypeFor[BookingField](), "knowledge_base_keys": reflect.TypeFor[KnowledgeBase](),
		"lightrag": reflect.TypeFor[LightRAG](), "enrichment": reflect.TypeFor[enrichmentKeys](),
		"widget": reflect.TypeFor[widgetKeys](),
	}, map[reflect.Type]string{
		reflect.TypeFor[Prompts](): "prompts", reflect.TypeFor[Field](): "field", reflect.TypeFor[CTA](): "cta",
		reflect.TypeFor[BookingField](): "booking_field", reflect.TypeFor[KnowledgeBase](): "knowledge_base",
		reflect.TypeFor[Enrichment](): "enrichment", reflect.TypeFor[Widget](): "widget",
	})
	document := defs["site"].(object)
	delete(defs, "site")
	document["$schema"], document["$id"] = "https://json-schema.org/draft/2020-12/schema", "urn:rehearse:schema:site"
	document["title"], document["description"] = "A site",
		"A website's chatbot. Only the name is required: everything else has a default."
	document["$defs"] = defs
	source.Relax(document, false)
	text, err := json.MarshalIndent(document, "", " ")
	if err != nil {
		panic(err) // values of JSON
	}
	return append(text, '\n')
}
