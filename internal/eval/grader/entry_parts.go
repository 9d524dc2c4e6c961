package grader

// kindSchemas says what the kinds of parameters look like.
func kindSchemas() map[string]object {
	listOf := func(item object) object { return object{"type": "array", "items": item} }
	return map[string]object{
		"text": ref("text"), "list of texts": ref("texts"), "text or list of texts": ref("texts"),
		"number": {"type": "number"}, "whole number": {"type": "integer"}, "true or false": ref("flag"), "time span": ref("span"),
		"mapping or path": {"type": []string{"object", "string"}}, "mapping": {"type": "object"},
		"list of mappings":   {"type": "array", "minItems": 1, "items": ref("accurate_field")},
		"list of calls":      listOf(object{"anyOf": []any{ref("text"), ref("wanted_call")}}),
		"list of facts":      listOf(object{"anyOf": []any{ref("text"), ref("wanted_fact")}}),
		"list of criteria":   {"type": "array", "minItems": 1, "items": object{"anyOf": []any{object{"type": "string", "pattern": `\S`}, ref("criterion")}}},
		"list of assertions": {"allOf": []any{ref("assertions"), object{"minItems": 1}}},
		"text, null or list": {"type": []string{"string", "number", "boolean", "null", "array"}},
	}
}

// partSchemas are the schemas of what stands inside of parameters.
func partSchemas() map[string]any {
	number := func(high float64) object { return object{"type": "number", "minimum": 0, "maximum": high} }
	closed := func(required []string, keys object) object {
		o := object{"type": "object", "additionalProperties": false, "properties": keys}
		if required != nil {
			o["required"] = required
		}
		return o
	}
	factOrKey := []any{ref("text"), ref("wanted_fact")}
	return map[string]any{
		"wanted_options": object{"type": "array", "minItems": 1, "items": object{"anyOf": []any{ref("text"), object{"type": "object", "minProperties": 1}}}},
		"forbidden":      object{"anyOf": []any{object{"type": "string"}, object{"type": "array", "minItems": 1, "items": object{"anyOf": factOrKey}}}},
		"accurate_field": closed([]string{"path"}, object{
			"path": ref("text"), "match": object{"enum": []string{"exact", "numeric_tolerance", "date"}}, "expected": object{}, "weight": number(1e6),
			"required": ref("flag"), "tolerance": object{"type": "number", "minimum": 0}, "relative": ref("flag"), "formats": ref("texts"),
		}),
		"wanted_call": closed(nil, object{
			"name": ref("text"), "tool": ref("text"), "args": object{}, "args_match": object{"anyOf": []any{object{"enum": argMatches}, object{"type": "array", "items": ref("text")}}},
			"max_duration_ms": object{"description": "Has no effect."},
		}),
		"wanted_fact": closed(nil, object{"key": ref("text"), "value": ref("text")}),
		"criterion": closed([]string{"outcome"}, object{
			"id": ref("text"), "outcome": object{"$ref": "#/$defs/text", "description": "What the judge looks for."},
			"operator": object{"enum": []string{"correctness", "contradiction"}}, "weight": number(1e6), "min_score": number(1),
			"required": object{"oneOf": []any{ref("flag"), number(1)}},
			"score_ranges": object{"description": "What scores from 0 to 10 mean.", "anyOf": []any{
				object{"type": "object", "propertyNames": object{"pattern": `^[-+0-9._eE]+$`}, "additionalProperties": ref("text")}, object{"type": "array", "items": ref("score_range")},
			}},
		}),
		"score_range": closed([]string{"outcome", "score_range"}, object{
			"outcome": ref("text"), "score_range": object{"type": "array", "minItems": 2, "maxItems": 2, "items": number(10)},
		}),
		"least_scores": object{"anyOf": []any{ref("texts"), object{"type": "object", "minProperties": 1, "additionalProperties": number(1)}}},
		"minimums":     object{"type": "object", "minProperties": 1, "additionalProperties": object{"type": "integer", "minimum": 1}},
		"aggregator": closed(nil, object{
			"type": object{"enum": []string{"weighted_average", "weighted", "threshold", "all", "any"}}, "threshold": number(1),
			"weights": object{"type": "object", "additionalProperties": number(1e6)},
		}),
	}
}
