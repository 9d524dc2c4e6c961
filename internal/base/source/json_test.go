package source_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// TestParseJSONAsEncodingJSON checks documents, most of them with a fault, against encoding/json: which are accepted,
// each value and key at its place, and where a fault is.
func TestParseJSONAsEncodingJSON(t *testing.T) {
	space := rapid.StringMatching(`[ \t\r\n]{0,2}`)
	scalar := rapid.SampledFrom([]string{
		`null`, `true`, `false`, `0`, `-0`, `1.50`, `1E+9`, `-1e-999`, `1e999`, `12345678901234567890123`,
		`""`, `"a b"`, `"é€"`, `"\u00e9\n\"\/"`, `"\ud83d\ude00"`, `"\udead"`, `"\u0000"`, "\"\u2028\"",
	})
	document := rapid.Custom(func(t *rapid.T) string {
		var value func(depth int) string
		value = func(depth int) string {
			kind := rapid.IntRange(0, 3).Draw(t, "kind")
			if depth == 0 || kind > 1 {
				return space.Draw(t, "space") + scalar.Draw(t, "scalar") + space.Draw(t, "space")
			}
			parts := make([]string, rapid.IntRange(0, 10).Draw(t, "length"))
			for i := range parts {
				if kind == 1 {
					parts[i] = fmt.Sprintf("%s\"k%d\"%s:", space.Draw(t, "space"), i, space.Draw(t, "space"))
				}
				parts[i] += value(depth - 1)
			}
			return space.Draw(t, "space") + "[{"[kind:kind+1] + strings.Join(parts, ",") + "]}"[kind:kind+1]
		}
		return value(3)
	})
	faults := rapid.SliceOfN(rapid.SampledFrom([]string{
		"", "", "{", "}", "[", "]", ",", ":", `"`, `\`, "\n", "1", "-", ".", "e", "nul", "\x00", "\ufeff", "x", `\u12`,
		`"k1":`,
	}), 0, 2)
	rapid.Check(t, func(t *rapid.T) {
		text := document.Draw(t, "document")
		for _, fault := range faults.Draw(t, "faults") {
			from := rapid.IntRange(0, len(text)).Draw(t, "from")
			to := rapid.IntRange(from, min(len(text), from+2)).Draw(t, "to")
			text = strings.ToValidUTF8(text[:from]+fault+text[to:], "")
		}
		checkAsEncodingJSON(t, []byte(text))
	})
}

func checkAsEncodingJSON(t *rapid.T, data []byte) {
	v, err := source.ParseJSON("f", data, 1)
	var problems source.Problems
	if errors.As(err, &problems) && strings.Contains(problems[0].Message, " is written twice") {
		return // encoding/json accepts it
	}
	if json.Valid(data) != (err == nil) {
		t.Fatalf("%q: %v", data, err)
	}
	if err == nil {
		checkPlaces(t, data, v)
		return
	}
	var first json.RawMessage
	fault := json.NewDecoder(bytes.NewReader(data)).Decode(&first)
	got := fmt.Sprintf("%d:%d %s", problems[0].Line, problems[0].Column, problems[0].Message)
	if syntax, ok := errors.AsType[*json.SyntaxError](fault); ok {
		before := data[:syntax.Offset-1]
		want := fmt.Sprintf("%d:%d not valid JSON: %s", bytes.Count(before, []byte("\n"))+1,
			len(before)-bytes.LastIndexByte(before, '\n'), fault)
		if got != want {
			t.Fatalf("%q: %s; want %s", data, got, want)
		}
	} else if (fault == nil) != strings.HasSuffix(got, "something follows the value") ||
		(fault != nil) != strings.HasSuffix(got, "it ends in the middle") {
		t.Fatalf("%q: %s; encoding/json: %v", data, got, fault)
	}
}

// checkPlaces checks that encoding/json reads each value, and each key, at its place.
func checkPlaces(t *rapid.T, data []byte, v source.Value) {
	at := func(line, column int) (x any) {
		rest := data
		for range line - 1 {
			_, rest, _ = bytes.Cut(rest, []byte("\n"))
		}
		d := json.NewDecoder(bytes.NewReader(rest[column-1:]))
		d.UseNumber()
		if err := d.Decode(&x); err != nil {
			t.Fatalf("%q, %d:%d: %v", data, line, column, err)
		}
		return x
	}
	if diff := cmp.Diff(at(v.Line, v.Column), plain(v)); diff != "" {
		t.Fatalf("%q, %d:%d (-want +got):\n%s", data, v.Line, v.Column, diff)
	}
	for _, item := range v.Items {
		checkPlaces(t, data, item)
	}
	for _, f := range v.Fields {
		if key := at(f.Line, f.Column); key != f.Name {
			t.Fatalf("%q, %d:%d: key %q; want %v", data, f.Line, f.Column, f.Name, key)
		}
		checkPlaces(t, data, f.Value)
	}
}

// plain returns the value as encoding/json has it, numbers as they are written.
func plain(v source.Value) any {
	switch v.Kind {
	case source.Number:
		return json.Number(v.Scalar)
	case source.List:
		items := make([]any, len(v.Items))
		for i, item := range v.Items {
			items[i] = plain(item)
		}
		return items
	case source.Map:
		fields := map[string]any{}
		for _, f := range v.Fields {
			fields[f.Name] = plain(f.Value)
		}
		return fields
	}
	return v.Any()
}

// TestParseJSONFaults checks faults that encoding/json does not have, and places of those at the end.
func TestParseJSONFaults(t *testing.T) {
	deep := strings.Repeat("[", 201)
	for text, want := range map[string]string{
		"{\"a\": 1,\n \"\\u0061\": 2}":          `3:2: not valid JSON: the key "a" is written twice`,
		"{\"a/~\ufffd\": 1, \"a/~\\ud800\": 2}": "2:15: not valid JSON: the key \"a/~\ufffd\" is written twice",
		deep + strings.Repeat("]", 201):         "",
		deep + " 1":                             "2:203: not valid JSON: nested deeper than 200 levels",
		strings.Repeat(`{"":`, 201):             "2:802: not valid JSON: nested deeper than 200 levels",
		"{}\n {}":                               "3:2: not valid JSON: something follows the value",
		"":                                      "2:1: not valid JSON: it ends in the middle",
		"[1,\n\"abc":                            "3:1: not valid JSON: it ends in the middle",
		"[1,\n\n":                               "2:4: not valid JSON: it ends in the middle",
		"[\"\xff\"]":                            "2:3: the line is not UTF-8 text",
	} {
		_, err := source.ParseJSON("f", []byte(text), 2)
		got := ""
		if err != nil {
			got, _, _ = strings.Cut(strings.TrimPrefix(err.Error(), "f:"), " (")
		}
		if got != want {
			t.Errorf("%q: %s; want %s", text, got, want)
		}
	}
}

func BenchmarkParseJSON(b *testing.B) {
	line := []byte(`{"id":"c-1","input":[{"role":"system","content":"You are the assistant of a parcel service."},` +
		`{"role":"user","content":"My parcel 000001 has not come yet, and I have asked 1 times now."}],` +
		`"assertions":[{"type":"contains","value":"parcel 000001"},{"type":"contains","value":"1"}]}`)
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := source.ParseJSON("f", line, 1); err != nil {
			b.Fatal(err)
		}
	}
}
