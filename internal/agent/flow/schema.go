package flow

import (
	_ "embed"
	"slices"
)

//go:embed schema/flow.schema.json
var flowSchema []byte

// Schema returns the JSON Schema of files of flows, of node flows and state machines, in the draft of 2020-12. The
// caller may change it. It accepts whatever is read without a fault, and more: that nodes and states exist, for
// instance, is no matter of a schema.
func Schema() []byte { return slices.Clone(flowSchema) }
