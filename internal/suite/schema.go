package suite

import _ "embed"

//go:embed suite.schema.json
var schema []byte

// Schema returns the JSON Schema (2020-12) of a conversation suite.
// It says what a file may look like; what keys mean together is checked by Load.
func Schema() []byte { return schema }
