package llm

import (
	"encoding/json"
	"slices"
	"strings"
)

// maxSchemaDepth bounds how deep a schema may be nested.
const maxSchemaDepth = 16

// emptyLists returns the JSON object that a schema accepts and that says nothing, such as {"facts":[]}: every property
// that must be there is a list that may be empty, null, or an object of the same kind. Any other value would have to be
// made up.
func emptyLists(schema json.RawMessage) (string, bool) { return emptyValue(schema, maxSchemaDepth) }

func emptyValue(schema json.RawMessage, depth int) (string, bool) {
	var s struct {
		Type       any                        `json:"type"`
		Required   []string                   `json:"required"`
		Properties map[string]json.RawMessage `json:"properties"`
		MinItems   float64                    `json:"minItems"`
	}
	if depth == 0 || json.Unmarshal(schema, &s) != nil {
		return "", false
	}
	types, _ := s.Type.([]any)
	switch {
	case s.Type == "array" && s.MinItems <= 0:
		return "[]", true
	case s.Type == "null", slices.Contains(types, any("null")):
		return "null", true
	case s.Type != "object":
		return "", false
	}
	var fields []string
	for _, name := range s.Required {
		value, ok := emptyValue(s.Properties[name], depth-1)
		if !ok {
			return "", false
		}
		fields = append(fields, jsonString(name)+":"+value)
	}
	return "{" + strings.Join(fields, ",") + "}", true
}
