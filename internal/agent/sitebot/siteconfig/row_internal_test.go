package siteconfig

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// TestEncode writes any value so that YAML and JSON read the same, which is what stands between a row and its site.
func TestEncode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := value(3).Draw(t, "value")
		data := encode(want)
		if !json.Valid(data) {
			t.Fatalf("not JSON: %s", data)
		}
		asJSON, err := source.ParseJSON("json", data, 1)
		if err != nil {
			t.Fatal(err)
		}
		asYAML, err := source.ParseYAML("yaml", data)
		if err != nil {
			t.Fatalf("%v: %s", err, data)
		}
		for _, got := range []source.Value{asJSON, asYAML} {
			if diff := cmp.Diff(want.Any(), got.Any()); diff != "" {
				t.Fatalf("-want +read from %s:\n%s", data, diff)
			}
		}
	})
}

// value generates values of a depth: texts with every character that PostgreSQL keeps.
func value(depth int) *rapid.Generator[source.Value] {
	text := rapid.Map(rapid.StringOf(rapid.Rune().Filter(func(r rune) bool { return r != 0 && utf8.ValidRune(r) })),
		source.Text)
	tricky := rapid.Map(rapid.SampledFrom([]string{
		"", "null", "a: b", "- x", "#c", "'", "\"", "\\", "/", "\n\t\x01\x7f", "\u0085\u2028", "😀", "<<", "~", "1e3",
		"{", "%",
	}), source.Text)
	number := rapid.Map(rapid.SampledFrom([]string{"0", "-1", "1.5", "1e-3", "12345678901", "-0.25E-2"}),
		func(s string) source.Value { return source.Value{Kind: source.Number, Scalar: s} })
	plain := rapid.OneOf(text, tricky, number, rapid.Just(source.Value{}),
		rapid.Just(source.Value{Kind: source.Bool, Scalar: "true"}))
	if depth == 0 {
		return plain
	}
	list := rapid.Map(
		rapid.SliceOfN(rapid.Deferred(func() *rapid.Generator[source.Value] { return value(depth - 1) }), 0, 4),
		func(items []source.Value) source.Value { return source.Value{Kind: source.List, Items: items} })
	fields := rapid.Custom(func(t *rapid.T) source.Value {
		v := source.Value{Kind: source.Map}
		for _, name := range rapid.SliceOfNDistinct(rapid.OneOf(text, tricky), 0, 4, func(v source.Value) string {
			return v.Scalar
		}).Draw(t, "keys") {
			if name.Scalar != "<<" { // which YAML merges even in quotes; no key of a site is called so
				v.Fields = append(v.Fields, source.Field{Name: name.Scalar, Value: value(depth-1).Draw(t, "value")})
			}
		}
		return v
	})
	return rapid.OneOf(plain, list, fields)
}
