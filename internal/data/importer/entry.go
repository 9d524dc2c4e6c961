package importer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// entry is a mapping being read. It knows which of its keys were asked for, so that the others can be listed as lost.
type entry struct {
	source.Value
	r *reader
	// what names the entry in losses.
	what string
	used map[string]bool
	// settings is true of an entry that holds no checks. Whatever is not read of any other entry may be a check.
	settings bool
	// failed, unless nil, gets the reason why the check that the entry is part of cannot be carried over.
	failed *string
}

// entry returns a value that may hold checks as an entry. Anything but a mapping has no keys; it is lost, unless it is
// null.
func (r *reader) entry(v source.Value, what string) *entry {
	return r.entryOf(v, what, &entry{})
}

// settings returns a value that holds no checks as an entry.
func (r *reader) settings(v source.Value, what string) *entry {
	return r.entryOf(v, what, &entry{settings: true})
}

func (r *reader) entryOf(v source.Value, what string, e *entry) *entry {
	e.Value, e.r, e.what, e.used = v, r, what, map[string]bool{}
	if v.Kind != source.Map && v.Kind != source.Null {
		e.Value = source.Value{Line: v.Line, Column: v.Column}
		e.lose(v, what, "expected a mapping, got %s", v.Kind)
	}
	return e
}

// lose lists a part of the entry that is not carried over.
func (e *entry) lose(v source.Value, what, format string, args ...any) {
	switch {
	case e.failed != nil:
		*e.failed = what + ": " + fmt.Sprintf(format, args...)
	case e.settings:
		e.r.lose(v.Line, what, format, args...)
	default:
		e.r.unsupported(v, what, format, args...)
	}
}

// get returns the value of the first of some keys that has one. The keys that have none count as asked for, too.
func (e *entry) get(names ...string) (v source.Value) {
	for _, name := range names {
		found, ok := e.Get(name)
		if v.Kind != source.Null && !empty(found) {
			continue // a second value under another name of the key is not read
		}
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
		e.lose(e.part(names...), e.name(names[0]), "expected text, got %s", v.Kind)
		return ""
	}
	return v.Scalar
}

// expectation returns the text of the first of some keys as what a reply is compared with.
func (e *entry) expectation(names ...string) string {
	text := e.text(names...)
	if !blank(text) {
		e.r.carry(e.part(names...))
	}
	return text
}

// number returns the number of a key; ok is false without one.
func (e *entry) number(names ...string) (n float64, ok bool) {
	v := e.get(names...)
	if v.Kind == source.Null {
		return 0, false
	}
	if n, ok = v.Float(); !ok {
		e.lose(e.part(names...), e.name(names[0]), "expected a number, got %s", v.Kind)
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

// ignore lists keys that cannot affect a verdict.
func (e *entry) ignore(why string, names ...string) { e.each(e.r.ignore, why, names) }

// drop lists keys as settings that are not carried over.
func (e *entry) drop(why string, names ...string) { e.each(e.r.lose, why, names) }

func (e *entry) each(list func(line int, what, format string, args ...any), why string, names []string) {
	for _, name := range names {
		if v, ok := e.Get(name); ok && !empty(v) && !e.used[name] {
			list(e.lineOf(name), e.name(name), "%s", why)
		}
		e.used[name] = true
	}
}

// unsupported leaves keys that are checks in the suite as checks that cannot pass; those that are there without a
// value, too.
func (e *entry) unsupported(why string, names ...string) {
	for _, name := range names {
		if _, ok := e.Get(name); ok && !e.used[name] {
			e.r.unsupported(e.part(name), e.name(name), "%s", why)
		}
		e.used[name] = true
	}
}

// part returns the first of some keys that is there, with its value, as a mapping.
func (e *entry) part(names ...string) source.Value {
	for _, f := range e.Fields {
		if slices.Contains(names, f.Name) {
			line, column := f.Line, f.Column
			if line == 0 {
				line, column = e.Line, e.Column
			}
			return source.Value{Kind: source.Map, Line: line, Column: column, Fields: []source.Field{f}}
		}
	}
	return source.Value{Kind: source.Map, Line: e.Line, Column: e.Column}
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

// rest lists every key that was not asked for and is not empty.
func (e *entry) rest() {
	for _, name := range e.unread() {
		e.lose(e.part(name), e.name(name), "it has no counterpart in a suite")
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
