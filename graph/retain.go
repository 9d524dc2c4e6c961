package graph

import (
	"bytes"
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// retainer returns the function that makes a value what it is once it was stored and read again, without that: a copy
// that shares nothing with its original, not even the memory of its texts, which may be small parts of large ones. It
// returns nil for types that JSON may give back changed.
func retainer[T any]() func(*T) {
	if !faithful(reflect.TypeFor[T](), nil) {
		return nil
	}
	switch any((*T)(nil)).(type) { // the type that states have most, without the cost of reflection
	case *string:
		return func(v *T) { cloneText(any(v).(*string)) }
	}
	p := planner{texts: true}
	plan := p.plan(reflect.TypeFor[T]())
	if plan == nil {
		return func(*T) {}
	}
	return func(v *T) { plan(reflect.ValueOf(v).Elem(), 0) }
}

func cloneText(text *string) { *text = strings.Clone(*text) }

// replacement is what JSON has in the place of what is no UTF-8. A text may have it too.
var replacement = []byte(`\ufffd`)

// retainable reports whether values of a type that JSON gives back unchanged are so, too.
func retainable(stored []byte) bool { return !bytes.Contains(stored, replacement) }

// ownForms are interfaces of types that write or read their JSON themselves.
var ownForms = []reflect.Type{
	reflect.TypeFor[json.Marshaler](), reflect.TypeFor[json.Unmarshaler](),
	reflect.TypeFor[encoding.TextMarshaler](), reflect.TypeFor[encoding.TextUnmarshaler](),
}

// faithful reports whether JSON surely gives values of a type back as they were, but for texts that are no UTF-8. A
// type that contains itself is not looked at further.
func faithful(t reflect.Type, within []reflect.Type) bool {
	ownForm := slices.ContainsFunc(ownForms, reflect.PointerTo(t).Implements)
	if ownForm || t == reflect.TypeFor[json.Number]() || slices.Contains(within, t) {
		return false
	}
	within = append(slices.Clip(within), t)
	switch kind := t.Kind(); kind {
	case reflect.Slice, reflect.Array:
		return faithful(t.Elem(), within)
	case reflect.Map:
		return t.Key().Kind() == reflect.String && faithful(t.Key(), within) && faithful(t.Elem(), within)
	case reflect.Pointer: // null is the pointer itself, so what it points to must not be null as well
		return !nullable(t.Elem().Kind()) && faithful(t.Elem(), within)
	case reflect.Struct:
		return faithfulFields(t, within)
	default:
		return plain(kind)
	}
}

func nullable(kind reflect.Kind) bool {
	return kind == reflect.Pointer || kind == reflect.Map || kind == reflect.Slice || kind == reflect.Interface
}

func plain(kind reflect.Kind) bool {
	return kind >= reflect.Bool && kind <= reflect.Float64 && kind != reflect.Uintptr || kind == reflect.String
}

// faithfulFields reports whether all fields of a struct are stored, each under a name of its own, and left out only
// where that says what they are.
func faithfulFields(t reflect.Type, within []reflect.Type) bool {
	names := map[string]bool{}
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			name = f.Name
		}
		name = strings.ToLower(name)
		omits := options == "omitempty" &&
			(f.Type.Kind() == reflect.String || f.Type.Kind() == reflect.Bool || f.Type.Kind() == reflect.Pointer)
		switch {
		case !f.IsExported() || f.Anonymous || names[name] ||
			strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") != "":
			return false
		case options != "" && !omits || !faithful(f.Type, within):
			return false
		}
		names[name] = true
	}
	return true
}

// cloneTexts and cloneTextMap are detach for the types that states have most, with the texts in them.
func cloneTexts(l *[]string) {
	cloneList(l)
	for i := range *l {
		cloneText(&(*l)[i])
	}
}

func cloneTextMap(m *map[string]string) {
	if *m == nil {
		return
	}
	c := make(map[string]string, len(*m))
	for key, text := range *m {
		c[strings.Clone(key)] = strings.Clone(text)
	}
	*m = c
}

// follow returns what is known of a thread once a record is saved that goes on from what was known before, as decode
// would return it. State is that of the record and the writes have led to it. It reports false where that has to be
// found out by reading the record.
func (s *schema[S]) follow(known recalled[S], r Record, state *S, writes Update[S]) (recalled[S], bool) {
	if bytes.HasPrefix(r.Appended, changedPrefix) {
		return recalled[S]{}, false
	}
	after, ok := s.changed(r.Values, known, func(c Column[S], into *S, stored []byte) error {
		return c.retain(into, state, stored)
	})
	if !ok {
		return recalled[S]{}, false
	}
	for _, c := range s.growing {
		c.take(after, known.state)
		if !c.retainAdded(after, writes, r.Appended) {
			return recalled[S]{}, false
		}
	}
	next := recalled[S]{last: r, records: known.records + 1, bytes: known.bytes + len(r.Appended), state: after}
	next.last.Appended = nil
	return next, true
}
