package source_test

import (
	"encoding/json"
	"maps"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

func TestParseYAML(t *testing.T) {
	for _, tc := range []struct {
		name, yaml string
		want       any
	}{
		{
			"scalars", "a: 1\nb: -2.5\nc: true\nd: ~\ne: text\nf: \"1\"\ng: .inf\nh: 0x10\n",
			map[string]any{"a": 1, "b": -2.5, "c": true, "d": nil, "e": "text", "f": "1", "g": ".inf", "h": 16.0},
		},
		{"block texts", "a: |-\n  one\n  two\nb: >-\n  one\n  two\n", map[string]any{"a": "one\ntwo", "b": "one two"}},
		{"lists", "- 1\n- [a, b]\n- {c: d}\n", []any{1, []any{"a", "b"}, map[string]any{"c": "d"}}},
		{
			"anchors", "a: &x {k: v}\nb: *x\n",
			map[string]any{"a": map[string]any{"k": "v"}, "b": map[string]any{"k": "v"}},
		},
		{
			"merge keys give way to what is written", "a: &x {k: v, l: w}\nb: {<<: *x, k: mine}\n",
			map[string]any{"a": map[string]any{"k": "v", "l": "w"}, "b": map[string]any{"k": "mine", "l": "w"}},
		},
		{"tag", "a: !!str 12\n", map[string]any{"a": "12"}},
		{
			"a tag changes no kind", "a: !!bool yes\nb: !!null x\nc: !!float 5\nd: !!int \"5\"\n",
			map[string]any{"a": "yes", "b": "x", "c": 5, "d": "5"},
		},
		{"JSON is YAML", `{"a": [1, {"b": null}], "c": "\u00e9"}`, map[string]any{
			"a": []any{1, map[string]any{"b": nil}}, "c": "é",
		}},
		{
			"a colon without a blank is text", "a: [b:c, 12:30, x:y:z, 'q': 1, k: v]\nb: {c: [d:e, f g:h i]}\n",
			map[string]any{
				"a": []any{"b:c", "12:30", "x:y:z", map[string]any{"q": 1}, map[string]any{"k": "v"}},
				"b": map[string]any{"c": []any{"d:e", "f g:h i"}},
			},
		},
		{
			"no breaks but those of YAML 1.2", "a: x\u2028y\nb: \"x\u0085\u2029\uFDD0y\"\n",
			map[string]any{"a": "x\u2028y", "b": "x\u0085\u2029\uFDD0y"},
		},
		{"byte order mark", "\ufeffa: 1\n", map[string]any{"a": 1}},
		{"number keys", "0: zero\n3: three\n", map[string]any{"0": "zero", "3": "three"}},
		{"empty", "# only a comment\n", nil},
		{"explicit document", "---\na: 1\n", map[string]any{"a": 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v, err := source.ParseYAML("f", []byte(tc.yaml))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, v.Any()); diff != "" {
				t.Errorf("value mismatch (-want +got):\n%s", diff)
			}
		})
	}
}

func TestHostileYAML(t *testing.T) {
	bomb := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := 1; i < 12; i++ {
		ref := "*a" + string(rune('0'+(i-1)%10))
		if i > 9 {
			ref = "*b" + string(rune('0'+(i-11)%10))
		}
		if i == 10 {
			ref = "*a9"
		}
		name := "a" + string(rune('0'+i))
		if i > 9 {
			name = "b" + string(rune('0'+i-10))
		}
		bomb += name + ": &" + name + " [" + strings.Repeat(ref+", ", 9) + ref + "]\n"
	}
	for name, yaml := range map[string]string{
		"many aliases of aliases": bomb,
		"brackets":                strings.Repeat("[", 1_000_000),
		"braces":                  strings.Repeat("{a: ", 100_000),
		"dashes":                  strings.Repeat("- ", 100_000) + "x",
		"alias of itself":         "a: &a [*a]\n",
		"unknown alias":           "a: *b\n",
		"unknown tag":             "a: !!python/object x\n",
		"a merge of scalars":      "a: {<<: [b, 1]}\n",
		"a merge of an alias":     "a: &a [b, 1]\nc: {<<: *a}\n",
		"broken quotes":           "a: \"b\n",
		"tab":                     "a:\n\t- b\n",
		"bytes that are no text":  "a: \xff\xfe\x00\n\x00: [",
		"twice the same key":      "a: 1\na: 2\n",
	} {
		t.Run(name, func(t *testing.T) {
			v, err := source.ParseYAML("f", []byte(yaml))
			if err == nil {
				t.Fatalf("accepted as %v", v.Kind)
			}
			if problems, ok := err.(source.Problems); ok && (len(problems) != 1 || problems[0].Hint == "") { //nolint:errorlint // the value itself is promised
				t.Errorf("problems = %v", problems)
			}
		})
	}
}

func TestParseJSONPlaces(t *testing.T) {
	v, err := source.ParseJSON("f", []byte(`{"a": [1, {"b": "x"}], "c": true}`), 7)
	if err != nil {
		t.Fatal(err)
	}
	a, _ := v.Get("a")
	b, _ := a.Items[1].Get("b")
	c, _ := v.Get("c")
	if b.Line != 7 || b.Column != 17 || c.Column != 29 || a.Column != 7 || v.Fields[1].Column != 24 {
		t.Errorf("b at %d:%d, c at %d, a at %d, key c at %d; want 7:17, 29, 7, 24", b.Line, b.Column, c.Column,
			a.Column, v.Fields[1].Column)
	}
}

// TestJSONRoundTrip holds that what is written as JSON reads back the same through both parsers.
func TestJSONRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.MapOf(rapid.StringMatching(`[a-z]{1,5}`), rapid.OneOf(
			rapid.Map(rapid.IntRange(-1000, 1000), func(i int) any { return i }),
			rapid.Map(rapid.StringMatching(`[ -~é€]{0,12}`), func(s string) any { return s }),
			rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		)).Draw(t, "x")
		want := map[string]any{}
		maps.Copy(want, x)
		v := source.FromAny(want)
		if diff := cmp.Diff(any(want), v.Any()); diff != "" {
			t.Fatalf("FromAny and Any are not inverse (-want +got):\n%s", diff)
		}
	})
}

func TestNodeReportsPlaces(t *testing.T) {
	root, err := source.ParseYAML("f.yaml",
		[]byte("name: 3\nitems:\n- size: big\n  sise: 1\n- 7\nmode: fast\nwait: -1\n"))
	if err != nil {
		t.Fatal(err)
	}
	reader := &source.Reader{File: "f.yaml"}
	n := reader.Node(root, "top")
	var keys struct {
		Name  string `key:"name"`
		Items []struct {
			Size int `key:"size"`
		} `key:"items"`
		Mode string        `key:"mode" enum:"slow,steady"`
		Wait time.Duration `key:"wait"`
	}
	source.Decode(n, &keys)
	if keys.Name != "3" {
		t.Errorf("name = %q", keys.Name)
	}
	var got []string
	for _, p := range reader.Problems {
		got = append(got, p.String())
	}
	want := []string{
		`f.yaml:3:9: top.items[0].size: expected a whole number, got "big" (write a whole number)`,
		`f.yaml:4:3: top.items[0].sise: unknown key "sise" (did you mean "size"?)`,
		"f.yaml:5:3: top.items[1]: expected a mapping, got a number (write `key: value` pairs)",
		`f.yaml:6:7: top.mode: unknown value "fast" (use one of: slow, steady)`,
		`f.yaml:7:7: top.wait: expected a positive time span, got "-1" (write seconds, or a time span such as 500ms, 30s or 2m)`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems mismatch (-want +got):\n%s", diff)
	}
}

func TestNumbers(t *testing.T) {
	for text, want := range map[string]float64{"1": 1, "-2.5e3": -2500, "1_000": 1000, "0x1F": 31, "0o17": 15} {
		if got, ok := source.Text(text).Float(); !ok || got != want {
			t.Errorf("Float(%s) = %v, %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "one", "NaN", "1,5"} {
		if got, ok := source.Text(text).Float(); ok || math.IsNaN(got) {
			t.Errorf("Float(%q) = %v, want none", text, got)
		}
	}
}

// TestAnyIsExact holds that no number is rounded on its way from a file into JSON.
func TestAnyIsExact(t *testing.T) {
	for scalar, want := range map[string]string{
		"1": "1", "-5": "-5", "+5": "5", "007": "7", "1_000": "1000", "0x1F": "31", "0o17": "15", "1.5": "1.5",
		".5": "0.5", "1e3": "1000", "5.": "5", "9223372036854775807": "9223372036854775807",
		"9223372036854775809": "9223372036854775809", "+00009223372036854775809": "9223372036854775809",
		"-123456789012345678901234567890": "-123456789012345678901234567890",
		"9_223_372_036_854_775_809":       "9223372036854775809", "0xFFFFFFFFFFFFFFFFFF": "4722366482869645213695",
		"1e400": "1e400", "-.5e999": "-0.5e999",
	} {
		v := source.Value{Kind: source.Number, Scalar: scalar}
		data, err := json.Marshal(v.Any())
		if err != nil || string(data) != want {
			t.Errorf("%s becomes %s, %v; want %s", scalar, data, err, want)
		}
		if again := source.FromAny(v.Any()); again.Kind != source.Number {
			t.Errorf("%s comes back as %v", scalar, again)
		}
	}
	root, err := source.ParseYAML("f.yaml",
		[]byte("[184467440737095516170001, -184467440737095516170001, '184467440737095516170001']"))
	if err != nil {
		t.Fatal(err)
	}
	const want = `[184467440737095516170001,-184467440737095516170001,"184467440737095516170001"]`
	if data, err := json.Marshal(root.Any()); err != nil || string(data) != want {
		t.Errorf("YAML becomes %s, %v; want %s", data, err, want)
	}
}

func TestEditDistance(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"kitten", "sitting", 3}, {"é", "e", 1}, {"abc", "", 3}} {
		if got := source.EditDistance(tc.a, tc.b); got != tc.want {
			t.Errorf("EditDistance(%q, %q) = %d, want %d", tc.a, tc.b, got, tc.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.StringN(0, 12, -1).Draw(t, "a"), rapid.StringN(0, 12, -1).Draw(t, "b")
		d := source.EditDistance(a, b)
		if d != source.EditDistance(b, a) || (d == 0) != (a == b) && strings.ToValidUTF8(a, "?") == a &&
			strings.ToValidUTF8(b, "?") == b || d > max(len([]rune(a)), len([]rune(b))) {
			t.Fatalf("EditDistance(%q, %q) = %d breaks a law", a, b, d)
		}
	})
}

func FuzzParseYAML(f *testing.F) {
	f.Add([]byte("tests:\n- id: a\n  input: |\n    x\n"))
	f.Add([]byte("a: &x [1]\nb: *x\n<<: {c: d}\n"))
	f.Add([]byte("? - a\n: b\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := source.ParseYAML("f", data)
		if err == nil {
			v.Any()
		}
	})
}

// FuzzSubmittedYAML checks that a submission reads a document as the disk does, or refuses it, and never with more
// nodes than are counted.
func FuzzSubmittedYAML(f *testing.F) {
	for _, text := range []string{
		"a: &x {k: [1]}\nb: {<<: [*x, {c: *x}]}\n", "- &x [1]\n- &x [*x, *x]\n", "{a, b: , c: [d: e]}",
		"k: |\n a\n\n\n", "---\na: 1\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4<<10 {
			return
		}
		own, ownErr := source.Files{}.ParseYAMLStream("f", data)
		submitted, err := source.Files{}.Limited(source.NewAllowance()).ParseYAMLStream("f", data)
		if err == nil && (ownErr != nil && !strings.Contains(ownErr.Error(), "merges and aliases add") ||
			ownErr == nil && !reflect.DeepEqual(own, submitted)) {
			t.Fatalf("%v, %v; on the disk %v, %v", submitted, err, own, ownErr)
		}
	})
}
