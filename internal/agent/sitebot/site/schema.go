package site

import (
	_ "embed"
	"slices"
)

//go:embed site.schema.json
var schema []byte

// Schema returns the JSON Schema of files of sites, in the draft of 2020-12. The caller may change it. It accepts
// whatever is read without a fault, and more: that names stand once, for instance, is no matter of a schema.
func Schema() []byte { return slices.Clone(schema) }
