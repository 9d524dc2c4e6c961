package grader

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/vm/runtime"
)

// The language compares through float64 and knows no whole numbers of more than 64 bits. Here such a number is a
// figure, which it cannot count with, and comparisons of values whose type is known at run time only are calls of the
// functions below, which compare by value.

// exactFromJSON replaces the language's own fromJSON, which reads every number as float64.
func exactFromJSON() expr.Option {
	return expr.Function("fromJSON", func(params ...any) (any, error) {
		v, err := parseJSON(params[0].(string))
		if err != nil {
			return nil, fmt.Errorf("fromJSON: %w", err)
		}
		return countable(v), nil
	}, new(func(string) any))
}

// countable returns a copy of a JSON value with its numbers as expressions know them: int64, float64 or, for a whole
// number of more than 64 bits, a figure.
func countable(v any) any {
	switch v := v.(type) {
	case wide:
		return v.figure()
	case json.Number:
		return countable(plainNumber(v.String()))
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = countable(v[i])
		}
		return list
	case map[string]any:
		fields := make(map[string]any, len(v))
		for name := range v {
			fields[name] = countable(v[name])
		}
		return fields
	}
	return v
}

// exactComparisons makes comparisons of values whose type is not known before they are there calls of the environment's
// functions.
type exactComparisons struct{}

// Visit is called by the compiler for each node, whose type it knows.
func (exactComparisons) Visit(node *ast.Node) {
	n, ok := (*node).(*ast.BinaryNode)
	if !ok {
		return
	}
	left, right := kindOf(n.Left), kindOf(n.Right)
	dynamic := left == reflect.Interface || right == reflect.Interface
	nested := left == reflect.Slice || left == reflect.Map
	call := func(name string, a, b ast.Node) ast.Node {
		return &ast.CallNode{Callee: &ast.IdentifierNode{Value: name}, Arguments: []ast.Node{a, b}}
	}
	var exact ast.Node
	switch {
	case n.Operator == "==" && (dynamic || nested):
		exact = call("_equal", n.Left, n.Right)
	case n.Operator == "!=" && (dynamic || nested):
		exact = &ast.UnaryNode{Operator: "not", Node: call("_equal", n.Left, n.Right)}
	case n.Operator == "<" && dynamic:
		exact = call("_less", n.Left, n.Right)
	case n.Operator == ">" && dynamic:
		exact = call("_less", n.Right, n.Left)
	case n.Operator == "<=" && dynamic:
		exact = call("_lessOrEqual", n.Left, n.Right)
	case n.Operator == ">=" && dynamic:
		exact = call("_lessOrEqual", n.Right, n.Left)
	case n.Operator == "in" && (right == reflect.Interface || right == reflect.Slice) && !isRange(n.Right):
		exact = call("_in", n.Left, n.Right)
	default:
		return
	}
	ast.Patch(node, exact)
}

func isRange(n ast.Node) bool {
	b, ok := n.(*ast.BinaryNode)
	return ok && b.Operator == ".."
}

func kindOf(n ast.Node) reflect.Kind {
	if t := n.Type(); t != nil {
		return t.Kind()
	}
	return reflect.Invalid
}

// equalValues reports whether two values are equal: numbers by value, exactly at any size, also within lists and
// mappings.
func equalValues(a, b any) bool {
	if x, ok := exactNumber(a); ok {
		if y, ok := exactNumber(b); ok {
			return x == y
		}
	}
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	switch {
	case x.Kind() == reflect.Slice && y.Kind() == reflect.Slice:
		if x.Len() != y.Len() {
			return false
		}
		for i := range x.Len() {
			if !equalValues(x.Index(i).Interface(), y.Index(i).Interface()) {
				return false
			}
		}
		return true
	case x.Kind() == reflect.Map && y.Kind() == reflect.Map && x.Type().Key() == y.Type().Key():
		if x.Len() != y.Len() {
			return false
		}
		for _, key := range x.MapKeys() {
			other := y.MapIndex(key)
			if !other.IsValid() || !equalValues(x.MapIndex(key).Interface(), other.Interface()) {
				return false
			}
		}
		return true
	}
	return runtime.Equal(a, b)
}

func lessValues(a, b any) bool {
	if x, ok := exactNumber(a); ok {
		if y, ok := exactNumber(b); ok {
			return x.compare(y) < 0
		}
	}
	return runtime.Less(a, b)
}

func lessOrEqualValues(a, b any) bool {
	if x, ok := exactNumber(a); ok {
		if y, ok := exactNumber(b); ok {
			return x.compare(y) <= 0
		}
	}
	return runtime.LessOrEqual(a, b)
}

// inList reports whether a list has an element that is equal to v, or a mapping the key v.
func inList(v, list any) bool {
	items := reflect.ValueOf(list)
	if items.Kind() != reflect.Slice {
		return runtime.In(v, list)
	}
	for i := range items.Len() {
		if equalValues(items.Index(i).Interface(), v) {
			return true
		}
	}
	return false
}

// exactNumber returns a number as a figure; ok is false for what is not a number, and for those that are none (NaN) or
// not finite.
func exactNumber(v any) (f figure, ok bool) {
	switch v := v.(type) {
	case figure:
		return v, true
	case *float64:
		return exactNumber(*v)
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return figure{}, false
		}
	}
	return figureOf(v)
}
