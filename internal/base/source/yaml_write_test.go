package source_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

func TestYAMLReadsWell(t *testing.T) {
	v := source.Value{Kind: source.Map, Fields: []source.Field{
		{Name: "name", Value: source.Text("A plain name, isn't it?")},
		{Name: "no", Value: source.Text("no")},
		{Name: "tests", Value: source.Value{Kind: source.List, Items: []source.Value{
			{Kind: source.Map, Fields: []source.Field{
				{Name: "id", Value: source.Text("a")},
				{Name: "input", Value: source.Text("Dear all,\n\n1. one: two\n# three\n")},
				{Name: "tags", Value: source.Value{Kind: source.List, Items: []source.Value{
					source.Text("x"), source.Text("7"), {Kind: source.Number, Scalar: "7"},
				}}},
				{Name: "none", Value: source.Value{}},
				{Name: "vars", Value: source.Value{Kind: source.Map}},
			}},
			{Kind: source.List, Items: []source.Value{source.Text("- dash"), source.Text("two\nlines")}},
		}}},
	}}
	want := `name: A plain name, isn't it?
"no": "no"
tests:
  - id: a
    input: |
      Dear all,

      1. one: two
      # three
    tags:
      - x
      - "7"
      - 7
    none: null
    vars: {}
  - - "- dash"
    - |-
      two
      lines
`
	if diff := cmp.Diff(want, string(v.YAML())); diff != "" {
		t.Error(diff)
	}
}

// What is written is read back.
func TestYAMLRoundTrip(t *testing.T) {
	texts := rapid.OneOf(rapid.String(),
		rapid.StringOfN(rapid.SampledFrom([]rune("ab: #-\n\t'\"\\{}[]|>&*!%@`,?~é😀\u2028\u0085\u00a0\ufeff\r0")),
			0, 12, -1), rapid.SampledFrom([]string{
			"true", "null", "~", "1e3", "0x1", "2001-01-01", "=", "<<", "---", "...", "a\n...\nb", "a\n---\nb", ".inf",
			"1_000", "yes", "a  b", "a\n b", "{{ x }}",
		}))
	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		leaf := rapid.OneOf(texts.AsAny(), rapid.Int().AsAny(), rapid.Bool().AsAny(), rapid.Just[any](nil))
		if depth == 0 {
			return leaf
		}
		return rapid.OneOf(leaf,
			rapid.Map(rapid.SliceOfN(value(depth-1), 0, 4), func(items []any) any { return items }),
			rapid.Map(rapid.MapOfN(texts, value(depth-1), 0, 4), func(fields map[string]any) any { return fields }))
	}
	rapid.Check(t, func(t *rapid.T) {
		v := source.FromAny(value(3).Draw(t, "value"))
		if strings.Contains(string(v.YAML()), "\ufffd") {
			return // a byte that is not UTF-8 has become another
		}
		back, err := source.ParseYAML("x.yaml", v.YAML())
		if err != nil {
			t.Fatalf("%v\n%s", err, v.YAML())
		}
		if diff := cmp.Diff(v.Any(), back.Any()); diff != "" {
			t.Fatalf("%s\n%s", diff, v.YAML())
		}
	})
}
