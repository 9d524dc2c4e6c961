// Package jsonpath reads JSONPaths (RFC 9535) and follows them.
package jsonpath

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ohler55/ojg/jp"
)

// Hint is what the author of a bad path is told.
const Hint = "write $.name, $.list[0].name or $.list[*].name; put keys with special characters in brackets: " +
	"$['net-total']"

// Parse reads a path. The $ at its beginning may be missing.
func Parse(path string) (jp.Expr, error) {
	if strings.TrimSpace(path) == "" {
		return nil, errors.New("it is empty")
	}
	return jp.ParseString(path)
}

// Ordered returns the values of a document to which a path leads, in the order of the document's lists and of the names
// of its objects.
func Ordered(expr jp.Expr, doc any) []any {
	found := Values(expr, doc)
	if len(found) < 2 {
		return found
	}
	places, ok := locate(expr, doc)
	if !ok || len(places) != len(found) {
		return found
	}
	slices.SortStableFunc(places, func(a, b jp.Expr) int { return slices.CompareFunc(a, b, compareSteps) })
	for i, place := range places {
		found[i] = place.First(doc)
	}
	return found
}

func locate(expr jp.Expr, doc any) (places []jp.Expr, ok bool) {
	defer func() { ok = recover() == nil }() // see get
	return expr.Locate(doc, 0), true
}

func compareSteps(a, b jp.Frag) int {
	x, isX := a.(jp.Nth)
	y, isY := b.(jp.Nth)
	if isX && isY {
		return cmp.Compare(x, y)
	}
	return strings.Compare(string(a.Append(nil, true, false)), string(b.Append(nil, true, false)))
}

// Values returns the values of a document to which a path leads. A comparison that a filter of the path cannot make,
// such as that of two objects, selects nothing.
func Values(expr jp.Expr, doc any) []any {
	if values, ok := get(expr, doc); ok {
		return values
	}
	root, slots := withSlots(doc, expr)
	return piecewise(expr, doc, root, slots)
}

// get follows a path. ok is false where the library panics, which it does when a filter compares two objects or two
// lists.
func get(expr jp.Expr, doc any) (values []any, ok bool) {
	defer func() { ok = recover() == nil }()
	if len(expr) == 0 {
		return []any{doc}, true
	}
	return expr.Get(doc), true
}

// slot is a place in a root where one element stands at a time.
type slot struct {
	at   jp.Frag
	list []any
}

// withSlots returns a root that holds what the document holds, since filters may name the root, and a slot for each
// filter of the path.
func withSlots(doc any, expr jp.Expr) (root any, slots []slot) {
	n := 0
	for range filters(expr) {
		n++
	}
	slots = make([]slot, n)
	switch doc := doc.(type) {
	case map[string]any:
		doc = maps.Clone(doc)
		for i := range slots {
			name := "\x00" + strconv.Itoa(i) // a key that no reply has but one that is made to
			slots[i] = slot{jp.Child(name), make([]any, 1)}
			doc[name] = slots[i].list
		}
		return doc, slots
	case []any:
		doc = slices.Clone(doc)
		for i := range slots {
			slots[i] = slot{jp.Nth(len(doc)), make([]any, 1)}
			doc = append(doc, slots[i].list)
		}
		return doc, slots
	}
	return doc, nil
}

// filters yields the places of the filters of a path.
func filters(expr jp.Expr) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for i, f := range expr {
			if _, is := f.(*jp.Filter); is && !yield(i) {
				return
			}
		}
	}
}

// piecewise follows a path from doc, asking its filters of each element alone, so that one that cannot be compared
// leaves the others as they are.
func piecewise(expr jp.Expr, doc, root any, slots []slot) []any {
	at := -1
	for at = range filters(expr) {
		break
	}
	if at < 0 || len(slots) == 0 {
		values, _ := get(expr, doc)
		return values
	}
	within, _ := get(expr[:at], doc)
	one := jp.Expr{jp.Root('$'), slots[0].at, expr[at]}
	rest := slices.Concat(jp.Expr{jp.Root('$'), slots[0].at, jp.Nth(0)}, expr[at+1:])
	var found []any
	for _, container := range within {
		for _, element := range elements(container) {
			slots[0].list[0] = element
			if chosen, ok := get(one, root); !ok || len(chosen) == 0 {
				continue
			}
			values, ok := get(rest, root)
			if !ok {
				values = piecewise(rest, root, root, slots[1:])
			}
			found = append(found, values...)
		}
	}
	return found
}

// elements returns what a list or a mapping holds, that of a mapping by its keys.
func elements(container any) []any {
	switch c := container.(type) {
	case []any:
		return c
	case map[string]any:
		list := make([]any, 0, len(c))
		for _, key := range slices.Sorted(maps.Keys(c)) {
			list = append(list, c[key])
		}
		return list
	}
	return nil
}
