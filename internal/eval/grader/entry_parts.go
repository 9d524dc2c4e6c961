package grader

import (
	"reflect"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// kindSchemas says what the kinds of parameters look like.
func kindSchemas() map[string]object {
	listOf := func(item object) object { return object{"type": "array", "items": item} }
	return map[string]object{
		"text": ref("text"), "list of texts": ref("texts"), "text or list of texts": ref("texts"),
		"number": {"type": "number"}, "whole number": {"type": "integer"},
		"true or false": ref("flag"), "time span": ref("span"),
		"mapping or path": {"type": []string{"object", "string"}}, "mapping": {"type": "object"},
		"list of mappings": {"type": "array", "minItems": 1, "items": ref("accurate_field")},
		"list of calls":    listOf(object{"anyOf": []any{ref("text"), ref("wanted_call")}}),
		"list of facts":    listOf(object{"anyOf": []any{ref("text"), ref("wanted_fact")}}),
		"list of criteria": {"type": "array", "minItems": 1, "items": object{"anyOf": []any{
			object{"type": "string", "pattern": `\S`}, ref("criterion"),
		}}},
		"list of assertions": {"allOf": []any{ref("assertions"), object{"minItems": 1}}},
		"text, null or list": {"type": []string{"string", "number", "boolean", "null", "array"}},
	}
}

// partSchemas returns the schemas of what stands inside of parameters: those of the structs by their tags, with what
// tags cannot express.
func partSchemas() map[string]any {
	list := func(least int, items ...any) object {
		return object{"type": "array", "minItems": least, "items": object{"anyOf": items}}
	}
	share := object{"type": "number", "minimum": 0, "maximum": 1}
	defs := map[string]any{
		"wanted_options": list(1, ref("text"), object{"type": "object", "minProperties": 1}),
		"forbidden": object{"anyOf": []any{
			object{"type": "string"}, list(1, ref("text"), ref("wanted_fact")),
		}},
		"least_scores": object{"anyOf": []any{
			ref("texts"), object{"type": "object", "minProperties": 1, "additionalProperties": share},
		}},
		"minimums": object{
			"type": "object", "minProperties": 1, "additionalProperties": object{"type": "integer", "minimum": 1},
		},
		"args_match": object{"anyOf": []any{
			object{"enum": argMatches}, object{"type": "array", "items": ref("text")},
		}},
		"accurate_field": object{"required": []any{"path"}},
		"criterion": object{"required": []any{"outcome"}, "properties": object{
			"required": object{"oneOf": []any{ref("flag"), share}},
			"score_ranges": object{"anyOf": []any{
				object{
					"type": "object", "propertyNames": object{"pattern": `^[-+0-9._eE]+$`},
					"additionalProperties": ref("text"),
				},
				object{"type": "array", "items": ref("score_range")},
			}},
		}},
		"score_range": object{"required": []any{"outcome", "score_range"}, "properties": object{
			"score_range": object{"minItems": 2, "maxItems": 2},
		}},
	}
	source.AddSchemas(defs, map[string]reflect.Type{
		"accurate_field": reflect.TypeFor[accurateField](), "wanted_call": reflect.TypeFor[callKeys](),
		"wanted_fact": reflect.TypeFor[wantedFact](), "criterion": reflect.TypeFor[criterion](),
		"score_range": reflect.TypeFor[scoreRange](), "aggregator": reflect.TypeFor[aggregator](),
	}, nil)
	return defs
}
