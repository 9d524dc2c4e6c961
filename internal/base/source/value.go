// Package source reads the documents that people write (suites, configuration, scripts) and remembers where each value
// stood.
//
// A document is parsed into Values, plain trees with places. A Node is a Value being read: it knows its path and
// reports what is wrong with it. One pass finds every fault of a file, and each fault names file, line, column, path
// and a hint.
package source

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// Kind says what a Value holds.
type Kind uint8

// The kinds of values; the zero value is Null.
const (
	Null Kind = iota
	Bool
	Number
	String
	List
	Map
)

// String names the kind as an error message should.
func (k Kind) String() string {
	return [...]string{"nothing", "true or false", "a number", "text", "a list", "a mapping"}[k]
}

// Value is one node of a parsed document. The zero value is Null without a place. Values are never changed after
// parsing, so they may be shared between goroutines.
type Value struct {
	Kind Kind
	// Line and Column count from 1; 0 when the value did not come from a file.
	Line, Column int
	// Scalar is the text of a Bool, Number or String.
	Scalar string
	// Items are the elements of a List.
	Items []Value
	// Fields are the entries of a Map in the order in which they were written; names are unique.
	Fields []Field
}

// Field is one entry of a Map, placed at its key.
type Field struct {
	Name         string
	Line, Column int
	Value        Value
}

// Text returns a String value without a place, for values that no file holds.
func Text(s string) Value { return Value{Kind: String, Scalar: s} }

// Get returns the entry of a Map called name, or a Null value and false.
func (v Value) Get(name string) (Value, bool) {
	for _, f := range v.Fields {
		if f.Name == name {
			return f.Value, true
		}
	}
	return Value{}, false
}

// Float returns the number of a Number value, or of a String that reads as one.
func (v Value) Float() (float64, bool) {
	if v.Kind != Number && v.Kind != String {
		return 0, false
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(v.Scalar, "_", ""), 64)
	if err == nil && !math.IsNaN(f) {
		return f, true
	}
	if i, err := strconv.ParseInt(v.Scalar, 0, 64); err == nil {
		return float64(i), true
	}
	return 0, false
}

// Any returns the value as encoding/json would decode it: nil, bool, float64, string, []any or map[string]any.
// Integers that fit come as int so that they print without a fraction, numbers that neither holds as json.Number.
func (v Value) Any() any {
	switch v.Kind {
	case Bool:
		return v.Scalar == "true"
	case Number:
		return exactNumber(v.Scalar)
	case String:
		return v.Scalar
	case List:
		items := make([]any, len(v.Items))
		for i, item := range v.Items {
			items[i] = item.Any()
		}
		return items
	case Map:
		fields := make(map[string]any, len(v.Fields))
		for _, f := range v.Fields {
			fields[f.Name] = f.Value.Any()
		}
		return fields
	}
	return nil
}

// FromAny is the inverse of Any, for values that came from another format; map entries are sorted by name.
// Types that Any never returns become Null.
func FromAny(x any) Value {
	switch x := x.(type) {
	case bool:
		return Value{Kind: Bool, Scalar: strconv.FormatBool(x)}
	case int:
		return Value{Kind: Number, Scalar: strconv.Itoa(x)}
	case json.Number:
		return Value{Kind: Number, Scalar: x.String()}
	case float64:
		return Value{Kind: Number, Scalar: strconv.FormatFloat(x, 'g', -1, 64)}
	case string:
		return Text(x)
	case []any:
		v := Value{Kind: List, Items: make([]Value, len(x))}
		for i, item := range x {
			v.Items[i] = FromAny(item)
		}
		return v
	case map[string]any:
		v := Value{Kind: Map, Fields: make([]Field, 0, len(x))}
		for _, name := range sortedKeys(x) {
			v.Fields = append(v.Fields, Field{Name: name, Value: FromAny(x[name])})
		}
		return v
	}
	return Value{}
}
