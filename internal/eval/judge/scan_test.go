package judge

import (
	"encoding/json"
	"hash/maphash"
	"strings"
	"testing"
)

// TestSameValue holds when two objects are equal as JSON.
func TestSameValue(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		same bool
	}{
		{`{"a":1,"b":[2,{"c":null}]}`, "{ \"b\" : [2 , {\"c\":null}],\n\"a\":1.0}", true},
		{`{"a":"é/"}`, `{"\u0061":"\u00e9\/"}`, true},
		{`{"a":100}`, `{"a":1e2}`, true},
		{`{"a":0.5}`, `{"a":5.0E-1}`, true},
		{`{"a":0}`, `{"a":-0.00}`, true},
		{`{"a":12345678901234567890}`, `{"a":12345678901234567891}`, false},
		{`{"a":1e999999999999999999999}`, `{"a":1e999999999999999999999}`, true},
		{`{"a":1}`, `{"a":"1"}`, false},
		{`{"a":1}`, `{"a":-1}`, false},
		{`{"a":true}`, `{"a":"true"}`, false},
		{`{"a":null}`, `{}`, false},
		{`{"a":[]}`, `{"a":{}}`, false},
		{`{"a":[1,2]}`, `{"a":[2,1]}`, false},
		{`{"a":{"b":1}}`, `{"b":{"a":1}}`, false},
		{`{"a":1,"b":2}`, `{"a":2,"b":1}`, false},
		{`{"a":1,"a":2}`, `{"a":2}`, true},
	} {
		seed := maphash.MakeSeed()
		a, b := scan(tc.a, "", seed).outermost(), scan(tc.b, "", seed).outermost()
		if len(a) != 1 || len(b) != 1 || (a[0].hash == b[0].hash) != tc.same {
			t.Errorf("%s and %s: %+v, %+v, want the same: %t", tc.a, tc.b, a, b, tc.same)
		}
	}
}

// TestOutermost holds which objects are found in words.
func TestOutermost(t *testing.T) {
	for in, want := range map[string][]string{
		`a {"b":{"c":1}} d {"e":2}`:    {`{"b":{"c":1}}`, `{"e":2}`},
		`[{"a":1},{"b":2}]`:            {`{"a":1}`, `{"b":2}`},
		`{"a":"{\"b\":1} }"}{"c":"{"}`: {`{"a":"{\"b\":1} }"}`, `{"c":"{"}`},
		`{x} {} { } {,} {"a" 1}`:       {`{}`, `{ }`},
		`{"a":1,} {"a":[1,]} {"a":01}`: nil,
		`{{"a":1}} he said "{"b":2}"`:  {`{"a":1}`, `{"b":2}`},
		"{\"a\":\"new\nline\"}":        nil,
		`{"a":"\x"} {"a":tru} {"a":"`:  nil,
		"":                             nil,
	} {
		var got []string
		for _, o := range scan(in, "", maphash.MakeSeed()).outermost() {
			got = append(got, in[o.start:o.end])
		}
		if strings.Join(got, "|") != strings.Join(want, "|") {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}

// TestHostileText holds that no text takes more than its length: what grows with its square would not end before the
// test's time is up.
func TestHostileText(t *testing.T) {
	const size = 1 << 18
	repeat := func(s string) string { return strings.Repeat(s, size/len(s)) }
	for name, in := range map[string]string{
		"open objects": repeat(`{"score":`), "braces": repeat("{"),
		"brackets": repeat("["), "empty objects": repeat("{}"), "quotes": repeat(`"`),
		"objects in texts": repeat(`{"a":"`), "two readings": `{"a":["{` + repeat(`",":","`) + `"]}`,
		"white space": repeat("{ \n"), "backslashes": repeat(`\`), "escapes": repeat(`\u005cu005c`),
		"digits": `{"score":` + repeat("1") + `}`, "keys": "{" + repeat(`"score":1,`) + `"score":1}`,
		"deep and whole": strings.Repeat(`{"score":`, size/20) + "1" + strings.Repeat("}", size/20),
		"deep arrays":    `{"score":` + strings.Repeat("[", size/4) + strings.Repeat("]", size/4) + "}",
		"fragments":      repeat(`{"score": 1 `), "verdicts": repeat(`{"score":1}`),
		"an open thought": "<think>" + repeat("<think>"),
	} {
		for _, q := range fuzzed {
			q.Output = in
			asked := checklist{Question: q}
			if v, err := parse(asked, in); err == nil {
				t.Errorf("%s: a verdict %+v", name, v)
			}
			_, _ = parse(asked, `{"score":0,"scores":{"a":0},"checks":[]}`+in)
		}
	}
}

// FuzzScan holds that what is found is JSON, and that nothing is lost.
func FuzzScan(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,{"b":"{}"}]}`, `{"a":1,"a":2}`, `[{"\u00e9":-1.5e3}]`, `{"a":"{\"b\":1}"`, "{\"\xff\":true}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		s := scan(in, "a", maphash.MakeSeed())
		for _, c := range s.found {
			if !json.Valid([]byte(in[c.start:c.end])) {
				t.Errorf("not JSON: %q", in[c.start:c.end])
			}
		}
		whole := strings.Trim(in, " \t\r\n")
		if !strings.HasPrefix(whole, "{") || !json.Valid([]byte(whole)) {
			return
		}
		if o := s.outermost(); len(o) != 1 || in[o[0].start:o[0].end] != whole {
			t.Errorf("%q: found %+v", in, o)
		}
		var v any
		if json.Unmarshal([]byte(whole), &v) != nil || strings.ContainsAny(whole, "0123456789") {
			return // numbers lose digits on their way through float64
		}
		again, err := json.Marshal(v)
		if err != nil || !scan(string(again), "a", s.seed).holds(s.outermost()[0].hash) {
			t.Errorf("%q and %q differ: %v", whole, again, err)
		}
	})
}
