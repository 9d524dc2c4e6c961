package graph

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// Update is what a node changes: writes, applied in their order. A nil write changes nothing.
//
//	return graph.Update[State]{Response.Set(text), Warnings.Add("no documents were found")}, nil
type Update[S any] []Write[S]

// Write is one change of one field. Field.Set and the methods of List make them.
type Write[S any] interface {
	column() Column[S]
	apply(s *S)
	fault() error                   // what is wrong with it whatever the state
	stored() (op string, value any) // as a record or a step keeps it; Column.read makes the write again
}

// Column is a field of the state S together with the rule by which writes reach it: a Field or a List.
type Column[S any] interface {
	about() *traits
	bind(s *S) any                  // a pointer to the field within s
	detach(s *S)                    // replaces the field within s by a deep copy
	clear(s *S)                     // empties the field within s
	take(s, from *S)                // shares the field within from
	decode(s *S, data []byte) error // reads the field, without room to spare
	// retain is decode for data that is the field within from as it was stored.
	retain(s, from *S, data []byte) error
	parse(data []byte) (Write[S], error) // reads a write from outside

	read(op string, data []byte) (Write[S], error) // reads a write that was stored
}

// growing is a column whose records hold only what they add.
type growing[S any] interface {
	Column[S]
	// gather returns what an update adds to it; any says that the update writes it, plain that it only adds.
	gather(u Update[S]) (items any, any, plain bool)
	whole(s *S) Write[S] // adds all that s has of it
	collect(s, from *S)  // puts the items of from behind those of s, in place, whatever their keys
	extend(s, by *S)     // adds the items of by to those of s
	// retainAdded adds what an update adds, as it would be read from the stored one; false says that it has to be read.
	retainAdded(s *S, u Update[S], stored []byte) bool
}

// traits is what fields and lists have in common.
type traits struct {
	name   string // in JSON, or in Go for a field that is not stored
	quoted []byte // the name as it stands in an object
	number int    // of the struct's field
	err    error  // what is wrong with the declaration

	hidden  bool // tagged `json:"-"`: never stored, and empty at the beginning of each turn
	list    bool // it is added to
	single  bool // nodes that run side by side may not both write it
	perTurn bool // empty at the beginning of each turn
	kept    bool // its writes outlive a turn that fails
	flat    bool // assignment copies it
}

func (t *traits) about() *traits { return t }

// stored is the name of the field in steps, which keep fields too that records leave out.
func (t *traits) stored() string {
	if t.hidden {
		return "-" + t.name
	}
	return t.name
}

// grows reports whether records hold only what they add to the field.
func (t *traits) grows() bool { return t.list && !t.perTurn && !t.hidden }

// pointer returns a new S and a pointer to the field of it that a declaration means.
func pointer[S, T any](at func(*S) *T) (state, field reflect.Value) {
	s := new(S)
	return reflect.ValueOf(s).Elem(), reflect.ValueOf(at(s))
}

// identify finds out which field of the state a declaration means, so that nobody has to repeat its name.
func (t *traits) identify(state, field reflect.Value) {
	if state.Kind() != reflect.Struct {
		t.fail("the state is a %s: make it a struct", state.Kind())
		return
	}
	for i := range state.NumField() {
		v := state.Field(i)
		if v.Addr().Pointer() == field.Pointer() && v.Type() == field.Type().Elem() {
			t.number = i
			t.describe(state.Type().Field(i))
			return
		}
	}
	t.fail("a declaration points to no field of %s: return the address of one, as in &s.Name", state.Type())
}

func (t *traits) describe(f reflect.StructField) {
	tag := f.Tag.Get("json")
	name, options, _ := strings.Cut(tag, ",")
	t.name = name
	t.hidden = tag == "-"
	if name == "" || t.hidden {
		t.name = f.Name
	}
	t.perTurn = t.hidden
	t.quoted, _ = json.Marshal(t.name)
	switch {
	case !f.IsExported() || f.Anonymous:
		t.fail("field %q cannot be stored: export it and give it a name of its own", f.Name)
	case strings.Contains(options, "string"):
		t.fail("field %q: the option \"string\" of its json tag is not supported: leave it out", f.Name)
	}
}

func (t *traits) fail(format string, args ...any) {
	if t.err == nil {
		t.err = fmt.Errorf(format, args...)
	}
}

// Field is a field of the state with one value.
type Field[S, T any] struct {
	traits
	at    func(*S) *T
	merge func(old, written T) T // nil when the last value wins
	free  func(*T)               // makes a value share nothing; nil when assignment does
	roomy bool                   // values may have slices with room to spare
	form  func(*T)               // makes a value what it is once it was stored; nil when that takes storing it
}

// Last declares a field whose last value wins. Two nodes that run side by side may not both set it.
//
//	var Response = graph.Last(func(s *State) *string { return &s.Response })
func Last[S, T any](at func(*S) *T) *Field[S, T] {
	f := &Field[S, T]{at: at}
	f.free, f.roomy, f.err = detacher[T]()
	f.form = retainer[T]()
	f.traits.identify(pointer(at))
	f.single, f.flat = true, f.free == nil
	return f
}

// Merge declares a field whose writes are merged into the value before. The same arguments must give the same value;
// both are copies, and the function may return one of them.
func Merge[S, T any](at func(*S) *T, merge func(old, written T) T) *Field[S, T] {
	f := Last(at)
	f.merge, f.single = merge, false
	return f
}

// PerTurn makes the field begin every turn empty, so that nothing of the last turn leaks into this one.
func (f *Field[S, T]) PerTurn() *Field[S, T] {
	f.perTurn = true
	return f
}

// Retained makes writes to the field outlive a turn that fails or is cancelled, as counters should.
func (f *Field[S, T]) Retained() *Field[S, T] {
	f.kept = true
	return f
}

// Set writes a value, of which it takes a copy.
func (f *Field[S, T]) Set(value T) Write[S] {
	w := &fieldWrite[S, T]{f, value}
	f.own(&w.value)
	return w
}

func (f *Field[S, T]) own(value *T) {
	if f.free != nil {
		f.free(value)
	}
}

func (f *Field[S, T]) bind(s *S) any { return f.at(s) }

func (f *Field[S, T]) detach(s *S) { f.own(f.at(s)) }

func (f *Field[S, T]) clear(s *S) {
	var zero T
	*f.at(s) = zero
}

func (f *Field[S, T]) take(s, from *S) { *f.at(s) = *f.at(from) }

func (f *Field[S, T]) decode(s *S, data []byte) error {
	err := json.Unmarshal(data, f.at(s))
	f.detach(s)
	return err
}

func (f *Field[S, T]) retain(s, from *S, data []byte) error {
	if f.form == nil || !retainable(data) {
		return f.decode(s, data)
	}
	f.take(s, from)
	f.form(f.at(s))
	return nil
}

func (f *Field[S, T]) parse(data []byte) (Write[S], error) {
	var value T
	if err := decodeStrictly(data, &value); err != nil {
		return nil, err
	}
	return &fieldWrite[S, T]{f, value}, nil
}

// opSet is the write of fields, as it is called where it is stored.
const opSet = "set"

func (f *Field[S, T]) read(op string, data []byte) (Write[S], error) {
	if op != opSet {
		return nil, fmt.Errorf("unknown write %q of a field: it was stored by a newer program", op)
	}
	w := &fieldWrite[S, T]{field: f}
	if err := json.Unmarshal(data, &w.value); err != nil {
		return nil, err
	}
	f.own(&w.value) // what was decoded has room to spare
	return w, nil
}

type fieldWrite[S, T any] struct {
	field *Field[S, T]
	value T
}

func (w *fieldWrite[S, T]) column() Column[S] { return w.field }

func (w *fieldWrite[S, T]) fault() error { return nil }

func (w *fieldWrite[S, T]) stored() (op string, value any) { return opSet, w.value }

func (w *fieldWrite[S, T]) apply(s *S) {
	f, at := w.field, w.field.at(s)
	if f.merge == nil {
		*at = w.value
		return
	}
	old, written := *at, w.value
	f.own(&old)
	f.own(&written)
	*at = f.merge(old, written)
	if f.roomy {
		f.own(at)
	}
}
