package replay

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// maxSliceValue bounds the value of a field by which sessions are sliced, in bytes.
const maxSliceValue = 100

// slice reads the fields by which sessions are sliced from an event: from its context, the metadata in it, or the
// metadata of its payload. The first value that a session has counts.
func (s *Session) slice(e *Event, fields []string) {
	if len(s.Slices) == len(fields) {
		return
	}
	var context map[string]any
	var payload struct {
		Metadata map[string]any `json:"metadata"`
	}
	// what cannot be read has no value
	_ = json.Unmarshal(orNull(e.Context), &context)
	_ = json.Unmarshal(orNull(e.Payload), &payload)
	metadata, _ := context["metadata"].(map[string]any)
	for _, field := range fields {
		for _, object := range []map[string]any{context, metadata, payload.Metadata} {
			if value := sliceValue(object, field); value != "" && s.Slices[field] == "" {
				if s.Slices == nil {
					s.Slices = map[string]string{}
				}
				s.Slices[field] = value
			}
		}
	}
}

// sliceValue writes the value of a field, whose name may be a path with dots; empty where there is none.
func sliceValue(object map[string]any, field string) string {
	value, has := object[field]
	if first, rest, nested := strings.Cut(field, "."); !has && nested {
		inner, _ := object[first].(map[string]any)
		if inner == nil {
			return ""
		}
		return sliceValue(inner, rest)
	}
	said, isText := value.(string)
	if !isText && value != nil {
		encoded, err := json.Marshal(value)
		if err != nil {
			return ""
		}
		said = string(encoded)
	}
	said = strings.TrimSpace(said)
	for len(said) > maxSliceValue || !utf8.ValidString(said) {
		said = strings.ToValidUTF8(said[:min(len(said), maxSliceValue)], "")
	}
	return said
}
