package importer

import (
	"strings"

	"rehearse/internal/source"
)

// entry is a mapping being read. It knows which of its keys were asked for, so that the others can be listed as lost.
type entry struct {
	source.Value
	r *reader
	// what names the entry in losses.
	what string
	used map[string]bool
}

// entry returns a value as an entry. What is no mapping has no keys; it is lost, unless it is null.
func (r *reader) entry(v source.Value, what string) *entry {
	if v.Kind != source.Map && v.Kind != source.Null {
		r.lose(v.Line, what, "expected a mapping, got %s", v.Kind)
		v = source.Value{Line: v.Line}
	}
	return &entry{Value: v, r: r, what: what, used: map[string]bool{}}
}

// get returns the value of the first of some keys that has one. All of them count as asked for.
func (e *entry) get(names ...string) (v source.Value) {
	for _, name := range names {
		found, ok := e.Get(name)
		if e.used[name] = true; ok && v.Kind == source.Null && found.Kind != source.Null {
			v = found
			if v.Line == 0 {
				v.Line = e.Line
			}
		}
	}
	return v
}

// text returns the text of the first of some keys. A list or a mapping there is lost.
func (e *entry) text(names ...string) string {
	v := e.get(names...)
	if v.Kind == source.List || v.Kind == source.Map {
		e.r.lose(v.Line, e.name(names[0]), "expected text, got %s", v.Kind)
		return ""
	}
	return v.Scalar
}

// number returns the number of a key; ok is false without one.
func (e *entry) number(names ...string) (n float64, ok bool) {
	v := e.get(names...)
	if v.Kind == source.Null {
		return 0, false
	}
	if n, ok = v.Float(); !ok {
		e.r.lose(v.Line, e.name(names[0]), "expected a number, got %s", v.Kind)
	}
	return n, ok
}

// list returns the elements of the list of a key; a single value is a list of one.
func (e *entry) list(names ...string) []source.Value {
	switch v := e.get(names...); v.Kind {
	case source.Null:
		return nil
	case source.List:
		return v.Items
	default:
		return []source.Value{v}
	}
}

// keep counts keys as asked for that have nothing to carry over, such as identifiers and times of the tool itself.
func (e *entry) keep(names ...string) {
	for _, name := range names {
		e.used[name] = true
	}
}

// drop lists keys as lost for a reason of their own.
func (e *entry) drop(why string, names ...string) {
	for _, name := range names {
		if v, ok := e.Get(name); ok && !empty(v) && !e.used[name] {
			e.r.lose(e.lineOf(name), e.name(name), "%s", why)
		}
		e.used[name] = true
	}
}

// unread returns the keys that were not asked for and are not empty.
func (e *entry) unread() (names []string) {
	for _, f := range e.Fields {
		if !e.used[f.Name] && !empty(f.Value) {
			names = append(names, f.Name)
		}
	}
	return names
}

// rest lists every key as lost that was not asked for and is not empty.
func (e *entry) rest() {
	for _, name := range e.unread() {
		e.r.lose(e.lineOf(name), e.name(name), "it has no counterpart in a suite")
		e.used[name] = true
	}
}

func (e *entry) lineOf(name string) int {
	for _, f := range e.Fields {
		if f.Name == name && f.Line > 0 {
			return f.Line
		}
	}
	return e.Line
}

func (e *entry) name(key string) string { return strings.TrimPrefix(e.what+"."+key, ".") }

// empty reports whether nothing is lost with a value.
func empty(v source.Value) bool {
	switch v.Kind {
	case source.Null:
		return true
	case source.String:
		return v.Scalar == ""
	case source.List:
		return len(v.Items) == 0
	case source.Map:
		for _, f := range v.Fields {
			if !empty(f.Value) {
				return false
			}
		}
		return true
	}
	return false
}

// has reports whether a mapping has a key that is not null.
func has(v source.Value, name string) bool {
	found, ok := v.Get(name)
	return ok && found.Kind != source.Null
}

// first returns the first element of a list, or the value itself.
func first(v source.Value) source.Value {
	if v.Kind == source.List && len(v.Items) > 0 {
		return v.Items[0]
	}
	return v
}
