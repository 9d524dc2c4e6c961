package source

import (
	"encoding/json"
	"reflect"
)

// SameJSON reports whether two texts are JSON of the same value. Numbers are compared as 64-bit floats, and the order
// of keys does not count. What is no JSON is the same as nothing, not even itself.
func SameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}
