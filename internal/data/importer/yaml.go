package importer

import (
	"math"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// encode writes a document as YAML. escaped is true of a document in whose plain texts "{{" is no placeholder.
func encode(document pairs, escaped bool) ([]byte, error) {
	data := asWritten(document, escaped).YAML()
	if len(data) > source.MaxBytes {
		return nil, source.Invalid("the suite would be larger than a suite may be: import fewer files at once")
	}
	return data, nil
}

// asWritten returns a value as the file has it.
func asWritten(v any, escaped bool) source.Value {
	switch v := v.(type) {
	case pairs:
		m := source.Value{Kind: source.Map}
		for _, one := range v {
			m.Fields = append(m.Fields, source.Field{Name: one.name, Value: asWritten(one.value, escaped)})
		}
		return m
	case []any:
		list := source.Value{Kind: source.List}
		for _, one := range v {
			list.Items = append(list.Items, asWritten(one, escaped))
		}
		return list
	case source.Value:
		return parsed(v, escaped)
	case string:
		if escaped {
			v = string(escape(v))
		}
		return source.Text(v)
	case written:
		return source.Text(string(v))
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return source.FromAny(int(v))
		}
	}
	return source.FromAny(v)
}

// parsed returns a value of an imported file, whose texts have no placeholders, as asWritten does.
func parsed(v source.Value, escaped bool) source.Value {
	out := source.Value{Kind: v.Kind, Scalar: v.Scalar}
	switch v.Kind {
	case source.String:
		return asWritten(v.Scalar, escaped)
	case source.Number:
		return source.FromAny(v.Any())
	case source.List:
		for _, item := range v.Items {
			out.Items = append(out.Items, parsed(item, escaped))
		}
	case source.Map:
		for _, f := range v.Fields {
			out.Fields = append(out.Fields, source.Field{Name: f.Name, Value: parsed(f.Value, escaped)})
		}
	}
	return out
}
