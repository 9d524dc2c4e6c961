package graph

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
)

// schema holds every field of the state, each with its rule.
type schema[S any] struct {
	columns []Column[S]
	names   []string // of the fields that are stored
	byName  map[string]Column[S]
	// byStored has also the fields that are stored in steps only.
	byStored map[string]Column[S]
	deep     []Column[S] // those that assignment does not copy
	growing  []growing[S]
	known    map[Column[S]]bool
	guarded  bool
}

// newSchema checks that every field of the state is declared once, so that no write and no stored value can be for a
// field that nobody knows.
func newSchema[S any](columns []Column[S]) (*schema[S], error) {
	s := &schema[S]{
		columns: columns, byName: map[string]Column[S]{}, byStored: map[string]Column[S]{}, known: map[Column[S]]bool{},
	}
	var problems []error
	declared := map[int]bool{}
	for _, c := range columns {
		a := c.about()
		switch _, taken := s.byName[a.name]; {
		case a.err != nil:
			problems = append(problems, a.err)
		case declared[a.number]:
			problems = append(problems, fmt.Errorf("field %q is declared twice: leave one declaration out", a.name))
		case taken:
			problems = append(problems, fmt.Errorf("two fields are called %q in JSON: rename one", a.name))
		}
		declared[a.number] = true
		s.add(c)
	}
	if t := reflect.TypeFor[S](); t.Kind() == reflect.Struct {
		for i := range t.NumField() {
			if !declared[i] {
				problems = append(problems, fmt.Errorf(
					"field %q of %s has no rule for writes: declare it with Last, Merge or Append", t.Field(i).Name, t))
			}
		}
	}
	return s, errors.Join(problems...)
}

func (s *schema[S]) add(c Column[S]) {
	a := c.about()
	s.known[c] = true
	s.byStored[a.stored()] = c
	if !a.flat {
		s.deep = append(s.deep, c)
	}
	if g, ok := c.(growing[S]); ok && a.grows() {
		s.growing = append(s.growing, g)
	}
	if !a.hidden {
		s.names = append(s.names, a.name)
		s.byName[a.name] = c
	}
}

// copyOf returns a state that shares nothing with the one given.
func (s *schema[S]) copyOf(state *S) *S {
	c := *state
	for _, column := range s.deep {
		column.detach(&c)
	}
	return &c
}

// opened returns a state as a turn begins with it.
func (s *schema[S]) opened(state S) *S {
	for _, c := range s.columns {
		if c.about().perTurn {
			c.clear(&state)
		}
	}
	return &state
}

// lend hands a state to foreign code to read.
func (s *schema[S]) lend(state *S, read func(S)) error {
	if !s.guarded {
		read(*state)
		return nil
	}
	own := s.copyOf(state)
	read(*own)
	if !reflect.DeepEqual(own, state) {
		return ErrChanged
	}
	return nil
}

// checked returns an update without its nil writes, in place, or an error when it writes a field that was not declared.
func (s *schema[S]) checked(u Update[S]) (Update[S], error) {
	u = slices.DeleteFunc(u, func(w Write[S]) bool { return w == nil })
	for _, w := range u {
		if !s.known[w.column()] {
			return nil, fmt.Errorf("field %q is written but not declared: hand its declaration to graph.New",
				w.column().about().name)
		}
		if err := w.fault(); err != nil {
			return nil, err
		}
	}
	return u, nil
}

// applied returns the state after an update. The one given stays as it is: what they share is never changed.
func (s *schema[S]) applied(state *S, u Update[S]) *S {
	if len(u) == 0 {
		return state
	}
	after := *state
	for _, w := range u {
		w.apply(&after)
	}
	return &after
}

// whole returns an update with all that the state has of the fields that grow.
func (s *schema[S]) whole(state *S) Update[S] {
	var u Update[S]
	for _, c := range s.growing {
		u = append(u, c.whole(state))
	}
	return u
}
