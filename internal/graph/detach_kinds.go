package graph

import "reflect"

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

func detachMap(element detach) detach {
	return func(v reflect.Value, depth int) {
		c := reflect.MakeMapWithSize(v.Type(), v.Len())
		slot := reflect.New(v.Type().Elem()).Elem()
		for entries := v.MapRange(); entries.Next(); {
			slot.SetIterValue(entries)
			if element != nil {
				element(slot, depth)
			}
			c.SetMapIndex(entries.Key(), slot)
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
