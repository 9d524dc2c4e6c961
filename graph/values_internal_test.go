package graph

import (
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

type several struct {
	Text   string
	Counts map[string]int
	Inner  struct{ A, B string }
	Maybe  *bool
	List   []string `json:"l\u00e4nge"`
	Any    any
	Log    []string
}

func schemaOfSeveral(t *testing.T) *schema[several] {
	t.Helper()
	b := New("several",
		Last(func(s *several) *string { return &s.Text }), Last(func(s *several) *map[string]int { return &s.Counts }),
		Last(func(s *several) *struct{ A, B string } { return &s.Inner }),
		Last(func(s *several) **bool { return &s.Maybe }), Last(func(s *several) *[]string { return &s.List }),
		Last(func(s *several) *any { return &s.Any }), Append(func(s *several) *[]string { return &s.Log }),
	)
	b.Node("a", func(context.Context, several) (Update[several], error) { return nil, nil })
	b.Edge(Start, "a")
	b.Edge("a", End)
	g, err := b.Compile(Config{})
	if err != nil {
		t.Fatal(err)
	}
	return g.schema
}

// Whatever is known of the record before, the fields of a record are what they are when all are decoded; also where
// somebody has changed the text.
func TestDecodeValues(t *testing.T) {
	s := schemaOfSeveral(t)
	words := rapid.SampledFrom([]string{
		"", "a", `"`, `\`, `\"`, "{", "}]", ",", ":", "é", "\n", strings.Repeat("x", 300),
	})
	states := rapid.Custom(func(rt *rapid.T) *several {
		state := &several{
			Text: words.Draw(rt, "text"), Counts: rapid.MapOfN(words, rapid.Int(), 0, 2).Draw(rt, "counts"),
		}
		state.Inner.A, state.Inner.B = words.Draw(rt, "a"), words.Draw(rt, "b")
		if rapid.Bool().Draw(rt, "known") {
			yes := rapid.Bool().Draw(rt, "maybe")
			state.Maybe = &yes
		}
		state.List = rapid.SliceOfN(words, 0, 3).Draw(rt, "list")
		state.Any = rapid.SampledFrom([]any{nil, 1.5, "x", []any{"a"}, map[string]any{"b": nil}}).Draw(rt, "any")
		return state
	})
	rapid.Check(t, func(rt *rapid.T) {
		before := states.Draw(rt, "before")
		after := *before
		if next := states.Draw(rt, "after"); rapid.Bool().Draw(rt, "one field") {
			after.Text, after.Counts = next.Text, maps.Clone(before.Counts)
		} else {
			after = *next
		}
		first, err := s.encodeValues(before)
		if err != nil {
			rt.Fatal(err)
		}
		known := recalled[several]{last: Record{Values: first}, records: 1, state: new(several)}
		if err := json.Unmarshal(first, known.state); err != nil {
			rt.Fatal(err)
		}
		text, err := s.encodeValues(&after)
		if err != nil {
			rt.Fatal(err)
		}
		if rapid.IntRange(0, 3).Draw(rt, "changed by somebody") == 0 {
			text = slices.Clone(text)
			text[rapid.IntRange(0, len(text)-1).Draw(rt, "at")] = rapid.SampledFrom([]byte(`{}[]",:\ a1`)).
				Draw(rt, "to")
		} else if _, ok := s.changed(text, known, decoding[several]); !ok {
			rt.Fatalf("all of %s is decoded", text)
		}
		want := new(several)
		wantErr := json.Unmarshal(text, want)
		got, gotErr := s.decodeValues(text, known)
		if (wantErr == nil) != (gotErr == nil) || wantErr == nil && !reflect.DeepEqual(got, want) {
			rt.Fatalf("after %s\n%s\nis %+v, %v; not %+v, %v", first, text, got, gotErr, want, wantErr)
		}
	})
}
