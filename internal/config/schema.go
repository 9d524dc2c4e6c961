package config

import (
	_ "embed"
	"slices"
)

//go:embed config.schema.json
var schema []byte

// Schema returns the JSON Schema of configuration files, in the draft of 2020-12. The caller may change it.
func Schema() []byte { return slices.Clone(schema) }
