package graph

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// maxDepth bounds how deep a value may be nested. A deeper one is taken to contain itself.
const maxDepth = 200

// detach replaces every reference within an addressable value by a copy, so that the value shares nothing that anyone
// could change.
type detach func(v reflect.Value, depth int)

// detacher returns the function that makes a value share nothing with its original, or nil when assignment is enough.
// Roomy says that values may have slices; their copies have no spare capacity. Unexported fields of structs are left as
// they are: nodes cannot reach them.
func detacher[T any]() (free func(*T), roomy bool, err error) {
	switch any((*T)(nil)).(type) { // the types that states have most, without the cost of reflection
	case *map[string]string:
		return func(v *T) { cloneStrings(any(v).(*map[string]string)) }, false, nil
	case *[]string:
		return func(v *T) { cloneList(any(v).(*[]string)) }, true, nil
	}
	p := planner{}
	plan := p.plan(reflect.TypeFor[T]())
	if p.err != nil || plan == nil {
		return nil, false, p.err
	}
	return func(v *T) { plan(reflect.ValueOf(v).Elem(), 0) }, p.roomy, nil
}

// planner makes one detach for each type, because types may contain themselves.
type planner struct {
	known map[reflect.Type]detach
	texts bool // the memory of texts is copied too; see retainer
	roomy bool // there are slices, or values that may have some
	err   error
}

// plan returns how values of a type are detached, or nil when there is nothing to do.
func (p *planner) plan(t reflect.Type) detach {
	switch t.Kind() {
	case reflect.Chan, reflect.Func, reflect.UnsafePointer, reflect.Uintptr:
		p.err = fmt.Errorf("a %s cannot be stored: keep it out of the state", t)
	case reflect.Array:
		return detachArray(p.plan(t.Elem()))
	case reflect.Struct:
		return p.planStruct(t)
	case reflect.Slice:
		p.roomy = true
		return p.planReference(t)
	case reflect.Map, reflect.Pointer:
		return p.planReference(t)
	case reflect.Interface:
		p.roomy = true
		return detachInterface
	case reflect.String:
		if p.texts {
			return func(v reflect.Value, _ int) { v.SetString(strings.Clone(v.String())) }
		}
	}
	return nil
}

func (p *planner) planStruct(t reflect.Type) detach {
	type part struct {
		field int
		plan  detach
	}
	var parts []part
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() && (!f.Anonymous || f.Type.Kind() != reflect.Struct) {
			continue
		}
		if plan := p.plan(f.Type); plan != nil {
			parts = append(parts, part{i, plan})
		}
	}
	if len(parts) == 0 {
		return nil
	}
	return func(v reflect.Value, depth int) {
		for _, p := range parts {
			p.plan(v.Field(p.field), depth)
		}
	}
}

// planReference looks a type up before it plans its elements, as those may lead back to it.
func (p *planner) planReference(t reflect.Type) detach {
	mapping, list := cloneStrings, cloneList
	if p.texts {
		mapping, list = cloneTextMap, cloneTexts
	}
	switch t {
	case reflect.TypeFor[map[string]string]():
		return func(v reflect.Value, _ int) { mapping(v.Addr().Interface().(*map[string]string)) }
	case reflect.TypeFor[[]string]():
		return func(v reflect.Value, _ int) { list(v.Addr().Interface().(*[]string)) }
	}
	if plan, known := p.known[t]; known {
		return plan
	}
	if p.known == nil {
		p.known = map[reflect.Type]detach{}
	}
	var plan detach
	p.known[t] = func(v reflect.Value, depth int) { plan(v, depth) }
	element := p.plan(t.Elem())
	switch t.Kind() {
	case reflect.Slice:
		plan = deeper(detachSlice(element))
	case reflect.Map:
		var key detach
		if p.texts {
			key = p.plan(t.Key())
		}
		plan = deeper(detachMap(key, element))
	default:
		plan = deeper(detachPointer(element))
	}
	return plan
}

func cloneStrings(m *map[string]string) { *m = maps.Clone(*m) }

func cloneList(l *[]string) { *l = slices.Clip(slices.Clone(*l)) }

// deeper skips nil and panics on values that contain themselves.
func deeper(plan detach) detach {
	return func(v reflect.Value, depth int) {
		if v.IsNil() {
			return
		}
		if depth > maxDepth {
			panic(fmt.Sprintf("a value is nested deeper than %d levels: it may contain itself", maxDepth))
		}
		plan(v, depth+1)
	}
}

func detachArray(element detach) detach {
	if element == nil {
		return nil
	}
	return func(v reflect.Value, depth int) {
		for i := range v.Len() {
			element(v.Index(i), depth)
		}
	}
}

func detachSlice(element detach) detach {
	return func(v reflect.Value, depth int) {
		n := v.Len()
		c := reflect.MakeSlice(v.Type(), n, n)
		reflect.Copy(c, v)
		if element != nil {
			for i := range n {
				element(c.Index(i), depth)
			}
		}
		v.Set(c)
	}
}

func detachMap(key, element detach) detach {
	return func(v reflect.Value, depth int) {
		c := reflect.MakeMapWithSize(v.Type(), v.Len())
		name, slot := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		for entries := v.MapRange(); entries.Next(); {
			name.SetIterKey(entries)
			slot.SetIterValue(entries)
			if key != nil {
				key(name, depth)
			}
			if element != nil {
				element(slot, depth)
			}
			c.SetMapIndex(name, slot)
		}
		v.Set(c)
	}
}

func detachPointer(element detach) detach {
	return func(v reflect.Value, depth int) {
		c := reflect.New(v.Type().Elem())
		c.Elem().Set(v.Elem())
		if element != nil {
			element(c.Elem(), depth)
		}
		v.Set(c)
	}
}

// detachInterface plans as it goes, as only the value knows its type.
func detachInterface(v reflect.Value, depth int) {
	if v.IsNil() {
		return
	}
	p := planner{}
	plan := p.plan(v.Elem().Type())
	if p.err != nil {
		panic(p.err.Error())
	}
	if plan == nil {
		return
	}
	c := reflect.New(v.Elem().Type()).Elem()
	c.Set(v.Elem())
	plan(c, depth+1)
	v.Set(c)
}
