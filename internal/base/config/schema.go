package config

import (
	_ "embed"
	"encoding/json"
	"slices"
)

//go:embed config.schema.json
var schema []byte

// Schema returns the JSON Schema of configuration files, in the draft of 2020-12. The caller may change it. It refuses
// nothing that the program takes: a key that is there without a value is as good as missing, and a number is as good as
// a text.
func Schema() []byte {
	var root any
	if err := json.Unmarshal(schema, &root); err != nil {
		panic(err) // it is part of the program
	}
	widen(root)
	if file, ok := root.(map[string]any); ok {
		file["type"] = []any{"object", "null"} // an empty file configures nothing
	}
	wide, err := json.MarshalIndent(root, "", " ")
	if err != nil {
		panic(err)
	}
	return append(wide, '\n')
}

// widen lets the schemas in a document take in what the program takes for a text or for nothing.
func widen(part any) {
	switch part := part.(type) {
	case []any:
		for _, one := range part {
			widen(one)
		}
	case map[string]any:
		for key, one := range part {
			if key != "enum" && key != "const" && key != "required" {
				widen(one)
			}
		}
		_, chosen := part["enum"]
		if _, fixed := part["const"]; part["type"] == "string" && !chosen && !fixed {
			part["type"] = []any{"string", "number", "boolean"}
		}
		properties, ok := part["properties"].(map[string]any)
		if !ok {
			return
		}
		needed, _ := part["required"].([]any)
		for name, property := range properties {
			if !slices.Contains(needed, any(name)) {
				properties[name] = orNothing(property)
			}
		}
	}
}

// orNothing returns the schema of a value that may be null. The reader of the schema sees its description as before.
func orNothing(schema any) any {
	of, ok := schema.(map[string]any)
	if !ok {
		return schema
	}
	wide := map[string]any{"anyOf": []any{of, map[string]any{"type": "null"}}}
	if description, ok := of["description"]; ok {
		wide["description"] = description
		delete(of, "description")
	}
	return wide
}
