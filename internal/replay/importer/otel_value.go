package importer

import (
	"encoding/json"
	"strconv"
)

// otelAnyValue is a value of any type: AnyValue of https://github.com/open-telemetry/opentelemetry-proto. Messages are
// the text of their JSON, or arrays and maps where the instrumentation records attributes of structure.
type otelAnyValue struct {
	String *string      `json:"stringValue"`
	Int    *json.Number `json:"intValue"`
	Double *json.Number `json:"doubleValue"`
	Bool   *bool        `json:"boolValue"`
	Array  *struct {
		Values []otelAnyValue `json:"values"`
	} `json:"arrayValue"`
	KV *struct {
		Values []otelPair `json:"values"`
	} `json:"kvlistValue"`
}

type otelPair struct {
	Key   string       `json:"key"`
	Value otelAnyValue `json:"value"`
}

// value returns what JSON would have: nil, a string, a json.Number, a list or an object. Bytes are none of them and
// nil.
func (v otelAnyValue) value() any {
	switch {
	case v.String != nil:
		return *v.String
	case v.Int != nil:
		return *v.Int
	case v.Double != nil:
		return *v.Double
	case v.Bool != nil:
		return strconv.FormatBool(*v.Bool)
	case v.Array != nil:
		list := make([]any, len(v.Array.Values))
		for i, item := range v.Array.Values {
			list[i] = item.value()
		}
		return list
	case v.KV != nil:
		of := object{}
		for _, pair := range v.KV.Values {
			of[pair.Key] = pair.Value.value()
		}
		return of
	}
	return nil
}
