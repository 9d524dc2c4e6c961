package graph

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"

	"rehearse/internal/source"
)

// schema holds every field of the state, each with its rule.
type schema[S any] struct {
	columns []Column[S]
	names   []string // of the fields that are stored
	byName  map[string]Column[S]
	deep    []Column[S] // those that assignment does not copy
	growing []growing[S]
	known   map[Column[S]]bool
}

// newSchema checks that every field of the state is declared once, so that no write and no stored value can be for a field that nobody knows.
func newSchema[S any](columns []Column[S]) (*schema[S], error) {
	s := &schema[S]{columns: columns, byName: map[string]Column[S]{}, known: map[Column[S]]bool{}}
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
				problems = append(problems, fmt.Errorf("field %q of %s has no rule for writes: declare it with Last, Merge or Append", t.Field(i).Name, t))
			}
		}
	}
	return s, errors.Join(problems...)
}

func (s *schema[S]) add(c Column[S]) {
	a := c.about()
	s.known[c] = true
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

// checked returns an update without nil writes, or an error when it writes a field that was not declared.
func (s *schema[S]) checked(u Update[S]) (Update[S], error) {
	writes := make(Update[S], 0, len(u))
	for _, w := range u {
		if w == nil {
			continue
		}
		if !s.known[w.column()] {
			return nil, fmt.Errorf("field %q is written but not declared: hand its declaration to graph.New", w.column().about().name)
		}
		writes = append(writes, w)
	}
	return writes, nil
}

// applied returns the state with updates, in their order. The one given stays as it is: what they share is never changed.
func (s *schema[S]) applied(state *S, updates ...Update[S]) *S {
	after := *state
	for _, u := range updates {
		for _, w := range u {
			w.apply(&after)
		}
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

// parse reads an update from a JSON object of fields. Unknown and repeated names are errors, at any depth.
func (s *schema[S]) parse(data []byte) (Update[S], error) {
	d := json.NewDecoder(bytes.NewReader(data))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil, fmt.Errorf("an update is a JSON object of fields, not %.40q", data)
	}
	var u Update[S]
	seen := map[string]bool{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		name := key.(string) // the decoder lets nothing else stand for a key
		c, known := s.byName[name]
		switch {
		case !known:
			return nil, fmt.Errorf("unknown field %q (%s)", name, source.Suggest(name, s.names))
		case seen[name]:
			return nil, fmt.Errorf("field %q is given twice", name)
		}
		seen[name] = true
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, fmt.Errorf("field %q: %w", name, err)
		}
		w, err := c.parse(value)
		if err != nil {
			return nil, fmt.Errorf("field %q: %w", name, err)
		}
		u = append(u, w)
	}
	if _, err := d.Token(); err != nil {
		return nil, fmt.Errorf("the update does not end: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the update: give one JSON object")
	}
	return u, nil
}

// decodeStrictly reads a value and refuses fields that it does not have.
func decodeStrictly(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	return d.Decode(into)
}
