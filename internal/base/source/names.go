package source

import (
	"maps"
	"reflect"
	"slices"
	"strings"
)

// FieldNames returns the names in JSON of a type's fields, and of those inside of them, sorted.
func FieldNames(t reflect.Type) []string {
	names := map[string]bool{}
	addFieldNames(t, names, map[reflect.Type]bool{})
	delete(names, "")
	delete(names, "-")
	return slices.Sorted(maps.Keys(names))
}

func addFieldNames(t reflect.Type, names map[string]bool, seen map[reflect.Type]bool) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		addFieldNames(t.Elem(), names, seen)
	case reflect.Struct:
		if seen[t] {
			return
		}
		seen[t] = true
		for field := range t.Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			names[name] = true
			addFieldNames(field.Type, names, seen)
		}
	}
}
