package grader

import (
	"cmp"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rehearse-dev/rehearse/internal/base/jsonpath"
)

// TestFigures holds numbers of any size against arbitrary precision: equality, order, and that none changes in a
// document.
func TestFigures(t *testing.T) {
	literal := rapid.StringMatching(`-?(0|[1-9][0-9]{0,24})(\.[0-9]{1,4})?(e[+-]?[0-9]{1,2})?`)
	near := rapid.Custom(func(t *rapid.T) string {
		n := new(big.Int).Lsh(big.NewInt(1), uint(rapid.IntRange(50, 70).Draw(t, "bits")))
		n.Add(n, big.NewInt(rapid.Int64Range(-2, 2).Draw(t, "off")))
		return rapid.SampledFrom([]string{"", "-"}).Draw(t, "sign") + n.String()
	})
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.OneOf(literal, near)
		a, b := texts.Draw(t, "a"), texts.Draw(t, "b")
		x, _ := new(big.Rat).SetString(a)
		y, _ := new(big.Rat).SetString(b)
		if got, want := readFigure(a).compare(readFigure(b)), x.Cmp(y); got != want ||
			(readFigure(a) == readFigure(b)) != (want == 0) {
			t.Fatalf("compare(%s, %s) = %d, want %d", a, b, got, want)
		}
		v, err := parseJSON(a)
		if err != nil {
			t.Fatal(err)
		}
		back, _ := new(big.Rat).SetString(jsonText(v))
		if x.IsInt() && back.Cmp(x) != 0 {
			t.Fatalf("%s becomes %s", a, jsonText(v))
		}
		u, _ := parseJSON(b)
		if x.IsInt() && y.IsInt() && sameJSON(v, u) != (x.Cmp(y) == 0) {
			t.Fatalf("sameJSON(%s, %s) = %t", a, b, sameJSON(v, u))
		}
		p, isWide := v.(wide)
		q, also := u.(wide)
		if isWide && also && cmp.Compare(p, q) != x.Cmp(y) {
			t.Fatalf("the order of %s and %s is lost", a, b)
		}
	})
}

// TestFiltersThatCannotCompare holds that a filter selects nothing where it compares objects or lists, and all the rest
// as ever.
func TestFiltersThatCannotCompare(t *testing.T) {
	for _, tc := range []struct{ path, doc, want string }{
		{"$[?(@.a == @.b)]", `[{"a":{},"b":{}}]`, ``},
		{
			"$[?(@.a == @.b)].n",
			`[{"a":{},"b":{},"n":1},{"a":2,"b":2,"n":2},{"a":[],"b":[],"n":3},{"a":3,"b":2,"n":4}]`, `2`,
		},
		{"$[?(@.a != @.b)].n", `[{"a":{},"b":{},"n":1},{"a":2,"b":3,"n":2}]`, `2`},
		{"$.list[?(@.a == $.x)].n", `{"x":{},"list":[{"a":{},"n":1},{"a":1,"n":2}]}`, ``},
		{"$.list[?(@.a == $.x)].n", `{"x":1,"list":[{"a":{},"b":{},"n":1},{"a":1,"n":2}]}`, `2`},
		{
			"$.list[?(@.a == @.b)].in[?(@.c == @.d)].n",
			`{"list":[{"a":{},"b":{},"in":[]},{"a":1,"b":1,"in":[{"c":[],"d":[],"n":1},{"c":1,"d":1,"n":2}]}]}`, `2`,
		},
		{"$.all[?(@.a == @.b)].n", `{"all":{"k":{"a":{},"b":{}},"l":{"a":1,"b":1,"n":7}}}`, `7`},
		{"$..[?(@.a == @.b)].n", `{"all":[{"a":{},"b":{},"n":1},{"a":1,"b":1,"n":7}]}`, `7`},
		{"$[?(@.id < @.than)].n", `[{"id":100000000000000000000,"than":99999999999999999999,"n":1},{"id":-100000000000000000001,"than":-100000000000000000000,"n":2}]`, `2`},
		{"$[?(@.id == @.text)].n", `[{"id":9223372036854775809,"text":"9223372036854775809","n":1}]`, ``},
	} {
		expr, problem := jsonpath.Parse(tc.path)
		doc, err := parseJSON(tc.doc)
		if problem != nil || err != nil {
			t.Fatalf("%s of %s: %v, %v", tc.path, tc.doc, problem, err)
		}
		var got []string
		for _, v := range jsonpath.Values(expr, doc) {
			got = append(got, jsonText(v))
		}
		if strings.Join(got, " ") != tc.want {
			t.Errorf("%s of %s = %v, want %s", tc.path, tc.doc, got, tc.want)
		}
	}
}
