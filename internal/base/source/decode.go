package source

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Decoder is a type that reads its own node. Problems go to the node.
type Decoder interface{ DecodeNode(n Node) }

// Decode reads a mapping into the struct that into points to, and reports what does not fit. The tags of its fields:
//
//	key:"name"             name of the key. Without this tag, that of the tag json; a field without both is not read
//	alias:"old,older"      other names of the key; two of its names in one mapping are a problem
//	removed:"key: …"       the key is of earlier versions: it is a problem, and the tag completes "use …"
//	required:"message"     a missing key is a problem with this message
//	notblank:"true"        the text has more than white space
//	enum:"on,off"          allowed texts; hyphens count as underscores, and true and false as on and off
//	minimum:"0"            least number; exclusiveMinimum:"0" is the number to exceed
//	maximum:"1"            greatest number
//	doc:"the model's name" what the value is: hints and the JSON Schema have it
//	schema:"name"          the value's definition in the JSON Schema (see Schema)
//
// A field is a string (see Node.Text), bool, int, float64, time.Duration (Node.Duration), []string (Node.Texts),
// struct, pointer, slice or map by name of all of these, any (Value.Any), a Decoder, or a Node, which its reader
// decodes later. Keys of embedded structs are keys of the outer struct. A null counts as absent, and leaves the field
// as it was.
func Decode(n Node, into any) { n.decodeStruct(reflect.ValueOf(into).Elem()) }

// field is how one field of a struct is read.
type field struct {
	index    []int
	name     string // of the key
	aliases  []string
	removed  string
	required string
	notBlank bool
	doc      string
	schema   string
	enum     []string
	low      float64
	high     float64
	above    *float64
}

// plan is how a struct is read.
type plan struct {
	fields  []*field
	byName  map[string]*field // by keys and aliases
	known   []string          // the names that an unknown key is compared with
	missing []*field          // those that are required
}

var plans sync.Map // reflect.Type → *plan

// planOf returns the plan of a struct. A tag that cannot be read is a fault of the program: planOf panics.
func planOf(t reflect.Type) *plan {
	if known, ok := plans.Load(t); ok {
		return known.(*plan)
	}
	p := &plan{byName: map[string]*field{}}
	for _, f := range reflect.VisibleFields(t) {
		name, named := f.Tag.Lookup("key")
		if !named {
			name, _, _ = strings.Cut(f.Tag.Get("json"), ",")
		}
		if name == "" || name == "-" || !f.IsExported() {
			continue
		}
		made := &field{
			index: f.Index, name: name, removed: f.Tag.Get("removed"), required: f.Tag.Get("required"),
			notBlank: f.Tag.Get("notblank") != "", doc: f.Tag.Get("doc"), schema: f.Tag.Get("schema"),
			low: bound(f, "minimum", math.Inf(-1)), high: bound(f, "maximum", math.Inf(1)),
		}
		if _, given := f.Tag.Lookup("exclusiveMinimum"); given {
			made.above = new(bound(f, "exclusiveMinimum", 0))
		}
		made.aliases, made.enum = listed(f, "alias"), listed(f, "enum")
		p.fields = append(p.fields, made)
		for _, key := range append([]string{name}, made.aliases...) {
			p.byName[key] = made
			if made.removed == "" {
				p.known = append(p.known, key)
			}
		}
		if made.required != "" {
			p.missing = append(p.missing, made)
		}
	}
	slices.Sort(p.known)
	stored, _ := plans.LoadOrStore(t, p)
	return stored.(*plan)
}

// add returns the hint for a missing key.
func (f *field) add() string {
	hint := "add `" + f.name + ":`"
	if about := cmp.Or(f.doc, strings.Join(f.enum, ", ")); about != "" {
		hint += ", " + about
	}
	return hint
}

func bound(f reflect.StructField, tag string, without float64) float64 {
	text, given := f.Tag.Lookup(tag)
	if !given {
		return without
	}
	number, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic(fmt.Sprintf("source: tag %s of field %s: %v", tag, f.Name, err))
	}
	return number
}

func listed(f reflect.StructField, tag string) []string {
	text := f.Tag.Get(tag)
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

func (n Node) decodeStruct(v reflect.Value) {
	if n.Kind != Map {
		n.Report("write `key: value` pairs", "expected a mapping, got %s", n.Kind)
		return
	}
	p := planOf(v.Type())
	given := map[*field]string{} // of keys with other names
	for _, entry := range n.Fields {
		f, known := p.byName[entry.Name]
		if known && len(f.aliases) > 0 && entry.Value.Kind != Null {
			if first, twice := given[f]; twice {
				n.Field(entry.Name).Report("keep one of the two", "%s and %s are the same", first, entry.Name)
				continue
			}
			given[f] = entry.Name
		}
		switch {
		case !known:
			n.ReportUnknown(entry, p.known)
		case entry.Value.Kind == Null:
		case f.removed != "":
			n.child(entry.Name, entry.Value, entry.Line, entry.Column).Report("", "removed: use %s", f.removed)
		default:
			n.child(entry.Name, entry.Value, entry.Line, entry.Column).decode(v.FieldByIndex(f.index), f)
		}
	}
	for _, f := range p.missing {
		if !n.Has(f.name) && !slices.ContainsFunc(f.aliases, n.Has) {
			n.Report(f.add(), "%s", f.required)
		}
	}
}

// decode reads the node into v by the field's tags.
func (n Node) decode(v reflect.Value, f *field) {
	switch into := v.Addr().Interface().(type) {
	case Decoder:
		into.DecodeNode(n)
		return
	case *time.Duration:
		*into = n.Duration()
		return
	case *Node:
		*into = n
		return
	}
	switch t := v.Type(); t.Kind() {
	case reflect.String:
		v.SetString(n.text(f))
	case reflect.Bool:
		v.SetBool(n.Bool())
	case reflect.Int:
		v.SetInt(int64(n.whole(f)))
	case reflect.Float64:
		v.SetFloat(n.number(f))
	case reflect.Pointer:
		to := reflect.New(t.Elem())
		n.decode(to.Elem(), f)
		v.Set(to)
	case reflect.Struct:
		n.decodeStruct(v)
	case reflect.Interface:
		if value := n.Any(); value != nil {
			v.Set(reflect.ValueOf(value))
		}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.String && n.Kind != List && n.Kind != Map {
			v.Set(reflect.Append(reflect.Zero(t), reflect.ValueOf(n.text(f)).Convert(t.Elem())))
			return
		}
		all := reflect.Zero(t)
		for _, item := range n.List() {
			one := reflect.New(t.Elem()).Elem()
			item.decode(one, f)
			all = reflect.Append(all, one)
		}
		v.Set(all)
	case reflect.Map:
		all := reflect.MakeMapWithSize(t, len(n.Fields))
		for name, item := range n.Entries() {
			one := reflect.New(t.Elem()).Elem()
			item.decode(one, f)
			all.SetMapIndex(reflect.ValueOf(name).Convert(t.Key()), one)
		}
		v.Set(all)
	default:
		panic(fmt.Sprintf("source: the key %s has a field of the type %s, which cannot be decoded", f.name, t))
	}
}

func (n Node) text(f *field) string {
	if f.enum != nil {
		return n.choice(f)
	}
	text := n.Text()
	if f.notBlank && strings.TrimSpace(text) == "" && n.Kind != List && n.Kind != Map && n.Kind != Null {
		hint := "write " + cmp.Or(f.doc, "a text")
		if f.required == "" {
			hint += ", or leave the key out"
		}
		n.Report(hint, "the text is empty")
	}
	return text
}

func (n Node) choice(f *field) string {
	if slices.Contains(f.enum, "on") && (n.Scalar == "true" || n.Scalar == "false") {
		return map[string]string{"true": "on", "false": "off"}[n.Scalar]
	}
	return n.OneOf(f.enum...)
}

func (n Node) whole(f *field) int {
	number := n.Int(int(max(f.low, math.MinInt32)))
	if float64(number) > f.high {
		n.Report(fmt.Sprintf("use %g to %g", f.low, f.high), "%s is too large", n.Scalar)
		return int(f.high)
	}
	return number
}

func (n Node) number(f *field) float64 {
	if f.above == nil {
		return n.Number(f.low, f.high)
	}
	number := n.Number(*f.above, f.high)
	if number == *f.above && n.Kind == Number {
		n.Report(fmt.Sprintf("use a number above %g", *f.above), "%s is too small", n.Scalar)
	}
	return number
}

// Keys returns the names of the keys of a struct, without their other names, in the order of its fields.
func Keys[T any]() []string {
	fields := planOf(reflect.TypeFor[T]()).fields
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	return names
}

// KeyNames returns the keys of a struct by all of their names.
func KeyNames[T any]() map[string]string {
	keys := map[string]string{}
	for name, f := range planOf(reflect.TypeFor[T]()).byName {
		keys[name] = f.name
	}
	return keys
}
