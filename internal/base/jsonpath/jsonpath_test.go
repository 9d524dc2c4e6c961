package jsonpath

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// parseWhole parses JSON whose numbers are whole.
func parseWhole(text string) (any, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	return wholeNumbers(v), err
}

func wholeNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		n, _ := strconv.ParseInt(v.String(), 10, 64)
		return n
	case []any:
		for i := range v {
			v[i] = wholeNumbers(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = wholeNumbers(v[name])
		}
	}
	return v
}

// TestOrdered holds that several values come in one order, however often they are asked for.
func TestOrdered(t *testing.T) {
	doc, err := parseWhole(
		`{"b":{"t":"2","l":[{"t":"3"},{"t":"4"}]},"a":{"t":"1"},"c":[[{"t":"5"}],{"t":"6"},1,2,3,4,5,6,7,8,{"t":"7"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"$..t": "1 3 4 2 5 6 7", "$.*.t": "1 2", "$.c[*].t": "6 7", "b.l[*].t": "3 4", "$.b.l[?@.t].t": "3 4",
		"$.c[10,1].t": "6 7", "$.none": "", "$.a.t": "1",
	} {
		expr, err := Parse(path)
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			var got []string
			for _, v := range Ordered(expr, doc) {
				got = append(got, fmt.Sprint(v))
			}
			if d := cmp.Diff(want, strings.Join(got, " ")); d != "" {
				t.Fatalf("%s: %s", path, d)
			}
		}
	}
	for _, bad := range []string{"", " ", "$.", "steps[*"} {
		if _, err := Parse(bad); err == nil {
			t.Errorf("%q is a path", bad)
		}
	}
}

// TestPiecewise holds that asking filters of each element alone gives what the library gives at once.
func TestPiecewise(t *testing.T) {
	paths := []string{
		"$[?(@.a == @.b)]", "$[?(@.a == @.b)].b", "$..[?(@.a == @.b)]", "$[*][?(@ == 1)]", "[?(@.a > 0)]",
		"$.a[?(@.b == $.b)]", "$..a[?(@ < 2)]", "$[?(@.a == 1)][?(@ == 1)]", "$[?(@.a)].a[?(@.b == $.c)]",
	}
	leaf := rapid.SampledFrom([]string{"0", "1", "2", `"1"`, "null"})
	var value func(depth int) *rapid.Generator[string]
	value = func(depth int) *rapid.Generator[string] {
		if depth == 0 {
			return leaf
		}
		list := rapid.Map(rapid.SliceOfN(value(depth-1), 0, 3), func(all []string) string {
			return "[" + strings.Join(all, ",") + "]"
		})
		object := rapid.Map(rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 3, rapid.ID),
			func(keys []string) string { return strings.Join(keys, "") })
		mapping := rapid.Custom(func(t *rapid.T) string {
			var fields []string
			for _, key := range object.Draw(t, "keys") {
				fields = append(fields, fmt.Sprintf("%q:%s", string(key), value(depth-1).Draw(t, "value")))
			}
			return "{" + strings.Join(fields, ",") + "}"
		})
		return rapid.OneOf(leaf, list, mapping)
	}
	rapid.Check(t, func(t *rapid.T) {
		expr, problem := Parse(rapid.SampledFrom(paths).Draw(t, "path"))
		text := value(3).Draw(t, "doc")
		doc, err := parseWhole(text)
		if err := errors.Join(problem, err); err != nil {
			t.Fatal(err)
		}
		want, ok := get(expr, doc)
		if !ok {
			t.Skip("it cannot be compared")
		}
		root, slots := withSlots(doc, expr)
		if diff := cmp.Diff(sorted(want), sorted(piecewise(expr, doc, root, slots))); diff != "" {
			t.Fatalf("%s of %s (-at once +piecewise):\n%s", expr, text, diff)
		}
	})
}

func sorted(values []any) []string {
	texts := make([]string, 0, len(values))
	for _, v := range values {
		data, _ := json.Marshal(v)
		texts = append(texts, string(data))
	}
	slices.Sort(texts)
	return texts
}
