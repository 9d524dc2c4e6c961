package source

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// KeyError says which key of a JSON object cannot be meant.
type KeyError struct {
	// Pointer is the JSON pointer of the key's member.
	Pointer string
	Name    string
	// Twice is true of a key that stands twice in its object; else the object has no such key.
	Twice bool
}

// Error says what is wrong.
func (e *KeyError) Error() string {
	if e.Twice {
		return fmt.Sprintf("the key %q is written twice", e.Name)
	}
	return fmt.Sprintf("unknown field %q", e.Name)
}

// Keyed is a type that reads its own JSON: its objects have these keys.
type Keyed interface{ Keys() []string }

// CheckKeys finds what decoding into a type passes over: a key that is written twice, one that the type does not have,
// and one that differs from its own by case. The error is a *KeyError. Text that is no JSON, or not of the type, is
// left to the decoder.
func CheckKeys(data []byte, of reflect.Type) error {
	w := keyWalk{json: json.NewDecoder(bytes.NewReader(data))}
	w.value(of, "", 0)
	if w.found == nil {
		return nil
	}
	return w.found
}

type keyWalk struct {
	json  *json.Decoder
	found *KeyError
}

// value goes through the next value. False says that nothing after it is looked at.
func (w *keyWalk) value(of reflect.Type, at string, depth int) bool {
	token, err := w.json.Token()
	if err != nil || depth > maxDepth {
		return false
	}
	switch token {
	case json.Delim('{'):
		return w.object(keysOf(of), at, depth+1)
	case json.Delim('['):
		return w.list(elementOf(of), at, depth+1)
	}
	return true
}

func (w *keyWalk) object(keys keys, at string, depth int) bool {
	seen := map[string]bool{}
	for w.json.More() {
		token, err := w.json.Token()
		if err != nil {
			return false
		}
		name := token.(string) // the decoder lets nothing else stand for a key
		place := at + Pointer(name)
		of, known := keys.named[name]
		switch {
		case seen[name]:
			w.found = &KeyError{place, name, true}
			return false
		case !known && keys.named != nil:
			w.found = &KeyError{place, name, false}
			return false
		case !known:
			of = keys.others
		}
		seen[name] = true
		if !w.value(of, place, depth) {
			return false
		}
	}
	_, err := w.json.Token()
	return err == nil
}

func (w *keyWalk) list(of reflect.Type, at string, depth int) bool {
	for i := 0; w.json.More(); i++ {
		if !w.value(of, fmt.Sprintf("%s/%d", at, i), depth) {
			return false
		}
	}
	_, err := w.json.Token()
	return err == nil
}

// keys are those of an object. Without names it may have any, whose values are others; a nil type may be anything.
type keys struct {
	named  map[string]reflect.Type
	others reflect.Type
}

func keysOf(t reflect.Type) keys {
	if t = pointedTo(t); t == nil {
		return keys{}
	}
	if keyed, ok := reflect.TypeAssert[Keyed](reflect.Zero(t)); ok {
		named := map[string]reflect.Type{}
		for _, name := range keyed.Keys() {
			named[name] = nil
		}
		return keys{named: named}
	}
	switch {
	case readsItself(t):
		return keys{}
	case t.Kind() == reflect.Map:
		return keys{others: t.Elem()}
	case t.Kind() != reflect.Struct:
		return keys{}
	}
	named := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported() || f.Anonymous && name == "":
		case name == "":
			named[f.Name] = f.Type
		default:
			named[name] = f.Type
		}
	}
	return keys{named: named}
}

func elementOf(t reflect.Type) reflect.Type {
	if t = pointedTo(t); t != nil && !readsItself(t) && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) {
		return t.Elem()
	}
	return nil
}

func readsItself(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]())
}

func pointedTo(t reflect.Type) reflect.Type {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// Pointer writes the name of a member as a JSON pointer (RFC 6901).
func Pointer(name string) string {
	return "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}
