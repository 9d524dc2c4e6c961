package grader

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

const fencedJSON = "```json\n{\"a\": 1}\n```"

func TestIsJSON(t *testing.T) {
	runCases(t, []gradeCase{
		{"type: is_json", ` {"a": [1, "100%"]} `, 1, "100%"},
		{"type: is-json", "null", 1, ""},
		{"type: is_json", "", 0, `wanted: JSON; got: "", which is not JSON: the text is empty`},
		{"type: is_json", `{"a": 1`, 0, "it ends in the middle"},
		{"type: is_json", `{"a": 1} thanks`, 0, "which is not JSON"},
		{"type: is_json", "{'a': 1}", 0, "which is not JSON"},
		{"type: is_json", `{"a": 1e999}`, 0, "out of range"},
		{"type: is_json", fencedJSON, 0, "which `fenced: true` would accept"},
		{"{type: is_json, fenced: true}", fencedJSON, 1, ""},
		{"{type: is_json, fenced: true}", "```\n1\n```", 1, ""},
		{"{type: is_json, fenced: true}", "Here:\n" + fencedJSON, 0, "which is not JSON"},
		{"{type: is_json, fenced: true}", "```python\n1\n```", 0, "which is not JSON"},
		{"{type: is_json, fenced: true}", `{"a": 1}`, 1, ""},
		{"{type: is_json, schema: {type: object, required: [a]}}", `{"a": 1}`, 1, ""},
		{
			"{type: is_json, schema: {type: object, required: [a, b]}}", `{}`, 0,
			"JSON that follows the schema; got: at /: missing properties",
		},
		{
			"{type: is_json, schema: {properties: {a: {type: integer, minimum: 2}}}}", `{"a": 1}`, 0,
			"at /a: minimum: got 1, want 2",
		},
		{
			"{type: is_json, schema: {minimum: 9007199254740993}}", "9007199254740992", 0,
			"at /: minimum: got 9007199254740992, want 9007199254740993",
		},
		{
			"{type: is_json, schema: {maximum: .1}}", "0.1000000000000000000010", 0,
			"at /: maximum: got 0.100000000000000000001, want 0.1",
		},
		{"{type: is_json, schema: {const: 0x1F}}", "31", 1, ""},
		{"{type: is_json, schema: {properties: {a: {type: integer}}}}", `{"a": 1.0}`, 1, ""},
		{
			"{type: is_json, schema: {properties: {d: {type: string, format: date}}}}", `{"d": "31.12.2025"}`, 0,
			"not valid date",
		},
		{"{type: is_json, schema: {items: {type: string}}}", `[1, 2, 3, 4, 5, 6, 7, "x"]`, 0, "2 more"},
		{
			"{type: is_json, schema: {additionalProperties: false}}", `{"c": 1, "a": 1, "b": 1}`, 0,
			"additional properties 'a', 'b', 'c' not allowed",
		},
		{"{type: is_json, schema: {$defs: {a: {type: string}}, $ref: '#/$defs/a'}}", `"x"`, 1, ""},
	})
}

func TestIsJSONProblems(t *testing.T) {
	runProblems(t, []problemCase{
		{"type: is_json\nschema: {type: objekt}", 2, 18, "not a valid JSON Schema: at /type"},
		{"type: is_json\nschema:\n  properties:\n    a:\n      minimum: x", 5, 18, "got string, want number"},
		{"type: is_json\nschema: {$ref: 'https://example.com/s.json'}", 2, 3, "keep the schema in one piece"},
		{"type: is_json\nschema: {$ref: 'file:///etc/passwd'}", 2, 3, "keep the schema in one piece"},
		{"type: is_json\nschema: {$ref: 'other.json'}", 2, 3, "keep the schema in one piece"},
		{"type: is_json\nschema: {$ref: '#/nowhere'}", 2, 3, "not found"},
		{"type: is_json\nschema: {pattern: '(?=x)'}", 2, 21, "not valid regex"},
		{"type: is_json\nschema: {allOf: [{type: object}, {minLength: -1}]}", 2, 48, "at /allOf/1/minLength"},
		{"type: is_json\nschema: {items: {multipleOf: 1e-9999999}}", 2, 3, "out of range"},
		{"type: is_json\nschema: nowhere.json", 2, 11, "schema file: "},
		{"type: is_json\nschema: [1]", 2, 3, "expected a mapping or a path"},
		{"type: is_json\nfenced: perhaps", 2, 11, "expected true or false"},
	})
}

func TestIsJSONSchemaFile(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"s.json": "{\n\t\"required\": [\"a\"]}", "s.yaml": "required: [a]", "bad.json": "{",
		"huge.json": `{"minimum": 1e9999999}`, "wrong.yaml": "type: 3", "empty.yaml": "",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := New(Config{})
	for _, tc := range []struct{ schema, problem string }{
		{"s.json", ""},
		{"./s.yaml", ""},
		{filepath.Join(dir, "s.json"), ""},
		{"huge.json", "the number 1e9999999… is out of range"},
		{"bad.json", "schema file bad.json, line 1, column 2: not valid JSON"},
		{"wrong.yaml", "not a valid JSON Schema: at /type"},
		{".", "not a file of reasonable size"},
		{"empty.yaml", "not a valid JSON Schema"},
	} {
		check, err := s.Check(read(t, "- {type: is_json, schema: '"+tc.schema+"'}", dir)[0])
		if tc.problem != "" {
			if err == nil || !strings.Contains(err.Error(), tc.problem) ||
				!strings.HasPrefix(err.Error(), "s.yaml:1:") {
				t.Errorf("%s: error %v, want %q in it", tc.schema, err, tc.problem)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tc.schema, err)
			continue
		}
		if g := grade(t, check, reply("{}")); g.Score != 0 {
			t.Errorf("%s: score %v for a reply that breaks the schema", tc.schema, g.Score)
		}
	}
}

func TestJSONPath(t *testing.T) {
	const doc = `{"name": "Tea <1>", "n": 3, "f": 1.0, "big": 9007199254740993, "list": [1, "b", null], "items": [{"p": 1}, {"p": 2.5}], "none": null, "key-1": true}`
	runCases(t, []gradeCase{
		{"{type: json_path, path: $.name}", doc, 1, `"Tea <1>"`},
		{"{type: json_path, path: name}", doc, 1, ""},
		{"{type: json_path, path: $.none}", doc, 1, "null"},
		{"{type: json_path, path: $.nope}", doc, 0, "wanted: $.nope exists; got: nothing at that path"},
		{"{type: json_path, path: $.nope, exists: false}", doc, 1, "nothing at that path"},
		{"{type: json_path, path: $.name, exists: false}", doc, 0, `$.name does not exist; got: "Tea <1>"`},
		{"{type: json_path, path: $.name, equals: Tea <1>}", doc, 1, ""},
		{"{type: json_path, path: $.name, equals: tea <1>}", doc, 0, `equals "tea <1>"; got: "Tea <1>"`},
		{"{type: json_path, path: $.f, equals: 1}", doc, 1, ""},
		{"{type: json_path, path: $, equals: 184467440737095516170001}", "184467440737095516170001", 1, ""},
		{
			"{type: json_path, path: $, equals: 184467440737095516170001}", "184467440737095516170002", 0,
			"184467440737095516170002",
		},
		{"{type: json_path, path: $.n, equals: '3'}", doc, 0, `equals "3"; got: 3`},
		{"{type: json_path, path: $.big, equals: 9007199254740992}", doc, 0, "got: 9007199254740993"},
		{"{type: json_path, path: $.none, equals: null}", doc, 1, ""},
		{
			"{type: json_path, path: $.id, equals: 9223372036854775809}", `{"id": 9223372036854775810}`, 0,
			"equals 9223372036854775809; got: 9223372036854775810",
		},
		{"{type: json_path, path: $.id, equals: 9223372036854775809}", `{"id": 9223372036854775809}`, 1, ""},
		{"{type: json_path, path: $.id, equals: 9223372036854775809}", `{"id": 9223372036854775809.0}`, 1, ""},
		{"{type: json_path, path: $.id, equals: '9223372036854775809'}", `{"id": 9223372036854775809}`, 0, ""},
		{
			"{type: json_path, path: $.id, equals: 123456789012345678901234567890}",
			`{"id": 123456789012345678901234567891}`, 0, "got: 123456789012345678901234567891",
		},
		{"{type: json_path, path: $.id, equals: 1.0e+3}", `{"id": 1000}`, 1, ""},
		{"{type: json_path, path: $.id, equals: 0.1}", `{"id": 1e-1}`, 1, ""},
		{
			"{type: json_path, path: $.id, min: 9007199254740993}", `{"id": 9007199254740992}`, 0,
			"got: 9007199254740992",
		},
		{"{type: json_path, path: $.id, max: 9223372036854775809}", `{"id": 9223372036854775810}`, 0, ""},
		{"{type: json_path, path: $.id, max: 9223372036854775809}", `{"id": 9223372036854775809}`, 1, ""},
		{"{type: json_path, path: $.id, min: -1.5, max: '2'}", `{"id": 2}`, 1, ""},
		{
			"{type: json_path, path: '$[?(@.a == @.b)].n', equals: 2}",
			`[{"a": 9223372036854775809, "b": 9223372036854775810, "n": 1}, {"a": 9223372036854775809, "b": 9223372036854775809, "n": 2}]`, 1, "",
		},
		{
			"{type: is_json, schema: {properties: {id: {const: 9223372036854775809}}}}", `{"id": 9223372036854775810}`,
			0, "",
		},
		{
			"{type: is_json, schema: {properties: {id: {const: 9223372036854775809}}}}", `{"id": 9223372036854775809}`,
			1, "",
		},
		{
			"{type: field_accuracy, fields: [{path: id, expected: 9223372036854775809}]}",
			`{"id": 9223372036854775810}`, 0, "",
		},
		{
			"{type: field_accuracy, fields: [{path: id, expected: 9007199254740993, match: numeric_tolerance}]}",
			`{"id": "9007199254740992"}`, 0, "",
		},
		{"{type: json_path, path: $.n, equals: caf\u00e9}", "{\"n\": \"cafe\u0301\"}", 1, ""},
		{"{type: json_path, path: $.n, contains: e\u0301}", "{\"n\": \"caf\u00e9\"}", 1, ""},
		{"{type: json_path, path: $.n, equals: null}", doc, 0, "equals null; got: 3"},
		{"{type: json_path, path: $.list, equals: [1, b, null]}", doc, 1, ""},
		{"{type: json_path, path: '$.items[0]', equals: {p: 1.0}}", doc, 1, ""},
		{"{type: json_path, path: $.list, equals: [1, b]}", doc, 0, "got: [1,\"b\",null]"},
		{"{type: json_path, path: '$.items[1]', equals: {p: 2}}", doc, 0, `equals {"p":2}; got: {"p":2.5}`},
		{"{type: json_path, path: '$.items[1]', equals: {q: 2.5}}", doc, 0, ""},
		{"{type: json_path, path: $.name, contains: Tea}", doc, 1, ""},
		{"{type: json_path, path: $.name, contains: tea}", doc, 0, `contains "tea"`},
		{"{type: json_path, path: $.list, contains: b}", doc, 1, ""},
		{"{type: json_path, path: $.list, contains: 1}", doc, 1, ""},
		{"{type: json_path, path: '$.items[0]', contains: p}", doc, 1, ""},
		{"{type: json_path, path: $.n, contains: 3}", doc, 0, ""},
		{"{type: json_path, path: $.name, matches: '<\\d>$'}", doc, 1, ""},
		{"{type: json_path, path: $.n, matches: '^3$'}", doc, 1, ""},
		{"{type: json_path, path: $.n, min: 3}", doc, 1, ""},
		{"{type: json_path, path: $.n, max: 2.5}", doc, 0, "is at most 2.5; got: 3"},
		{"{type: json_path, path: $.name, min: 0}", doc, 0, "is at least 0"},
		{"{type: json_path, path: '$.items[*].p', min: 1, max: 3}", doc, 1, "2 values"},
		{"{type: json_path, path: '$.items[*].p', min: 2, max: 3}", doc, 0, "is from 2 to 3; got: 1"},
		{"{type: json_path, path: '$.items[?(@.p > 2)].p', equals: 2.5}", doc, 1, ""},
		{"{type: json_path, path: '$[''key-1'']', equals: true}", doc, 1, ""},
		{"{type: json_path, path: $.a, equals: 1}", fencedJSON, 1, ""},
		{"{type: json_path, path: $.a}", "no", 0, `got: "no", which is not JSON`},
		{"{type: json_path, path: $.a, exists: false}", "", 0, "which is not JSON"},
	})
	runProblems(t, []problemCase{
		{"type: json_path", 1, 3, `needs "path"`},
		{"type: json_path\npath: ''", 2, 9, "it is empty"},
		{"type: json_path\npath: $.a[", 2, 9, "not a JSONPath"},
		{"type: json_path\npath: $.net-total", 2, 9, "in brackets"},
		{"type: json_path\npath: a\nmatches: '('", 3, 12, "not a valid pattern"},
		{"type: json_path\npath: a\nequals: 1\nmin: 2", 4, 8, "min cannot stand beside equals"},
		{"type: json_path\npath: a\nmin: 3\nmax: 2", 3, 8, "min 3 is greater than max 2"},
		{"type: json_path\npath: a\nmin: x", 3, 8, "expected a number"},
	})
}

// The entries of an object come in no order, and the record must not depend on it.
func TestJSONPathEvidenceIsStable(t *testing.T) {
	check := one(t, New(Config{}), "{type: json_path, path: $.*, min: 9}")
	for range 20 {
		if g := grade(t, check, reply(`{"a": 4, "b": 2, "c": 3, "d": 5}`)); !strings.HasSuffix(g.Reason, "got: 2") {
			t.Fatalf("reason %q", g.Reason)
		}
	}
}

func TestFieldAccuracy(t *testing.T) {
	const fields = "{type: field_accuracy, fields: "
	runCases(t, []gradeCase{
		{fields + "[{path: a, expected: 1}, {path: b.c, expected: x}]}", `{"a": 1, "b": {"c": "x"}}`, 1, "1"},
		{
			fields + "[{path: a, expected: 1, weight: 3}, {path: b, expected: x}]}", `{"a": 1, "b": "X"}`, 0.75,
			`wanted: 2 fields right; got: b: "X" in place of "x"`,
		},
		{
			fields + "[{path: a, expected: 1}, {path: b, expected: x}], aggregation: all_or_nothing}",
			`{"a": 1, "b": "y"}`, 0, "",
		},
		{
			fields + "[{path: a, expected: 1}, {path: b, expected: x}], aggregation: all-or-nothing}",
			`{"a": 1, "b": "x"}`, 1, "",
		},
		{fields + "[{path: a, expected: 1}]}", `{}`, 0, "a: nothing at that path in place of 1"},
		{fields + "[{path: a, expected: 1, required: false}, {path: b, expected: 2}]}", `{"b": 2}`, 1, "optional"},
		{
			fields + "[{path: a, expected: 1, required: false}, {path: b, expected: 1, required: false}]}", `{}`, 0,
			"wanted: 2 fields right; got: none of them",
		},
		{fields + "[{path: a, expected: 1}]}", "sorry", 0, "the reply is not JSON"},
		{fields + "[{path: a, expected: 1}]}", fencedJSON, 1, ""},
		{fields + "[{path: n, expected: 0.3, match: numeric_tolerance, tolerance: 0.1}]}", `{"n": 0.4}`, 1, ""},
		{
			fields + "[{path: n, expected: 10, match: numeric_tolerance, tolerance: 1}]}", `{"n": 11.5}`, 0,
			"11.5 in place of 10 ± 1",
		},
		{
			fields + "[{path: n, expected: 200, match: numeric_tolerance, tolerance: 0.05, relative: true}]}",
			`{"n": "190"}`, 1, "",
		},
		{
			fields + "[{path: n, expected: 200, match: numeric_tolerance, tolerance: 0.05, relative: true}]}",
			`{"n": 189}`, 0, "200 ± 5 %",
		},
		{
			fields + "[{path: n, expected: 0, match: numeric_tolerance, tolerance: 0.1, relative: true}]}",
			`{"n": 0.05}`, 1, "",
		},
		{fields + "[{path: n, expected: 1, match: numeric_tolerance, tolerance: 9}]}", `{"n": "one"}`, 0, ""},
		{fields + "[{path: n, expected: 1, match: numeric_tolerance, tolerance: 9}]}", `{"n": "NaN"}`, 0, ""},
		{fields + "[{path: d, expected: 2025-01-15, match: date}]}", `{"d": "15-JAN-2025"}`, 1, ""},
		{fields + "[{path: d, expected: 2025-01-15, match: date}]}", `{"d": "2025-01-15T23:30:00-05:00"}`, 1, ""},
		{fields + "[{path: d, expected: 2025-03-04, match: date}]}", `{"d": "03/04/2025"}`, 1, ""},
		{
			fields + "[{path: d, expected: 2025-03-04, match: date, formats: [YYYY-MM-DD, DD/MM/YYYY]}]}",
			`{"d": "04/03/2025"}`, 1, "",
		},
		{
			fields + "[{path: d, expected: 2025-03-04, match: date}]}", `{"d": "soon"}`, 0,
			`d: "soon" in place of 2025-03-04`,
		},
		{fields + "[{path: d, expected: soon, match: date}]}", `{"d": "2025-03-04"}`, 0, "no date in a known format"},
		{fields + "[{path: 'l[1].x', expected: [1, 2]}]}", `{"l": [0, {"x": [1, 2]}]}`, 1, ""},
	})
	runProblems(t, []problemCase{
		{"type: field_accuracy", 1, 3, `needs "fields"`},
		{"type: field_accuracy\nfields: []", 2, 3, "the list is empty"},
		{"type: field_accuracy\nfields: [{match: exact}]", 2, 13, "it is empty"},
		{"type: field_accuracy\nfields: [{path: 'a[*].b'}]", 2, 19, "leads to one value"},
		{"type: field_accuracy\nfields:\n  - path: a\n    match: fuzzy", 4, 14, `unknown value "fuzzy"`},
		{"type: field_accuracy\nfields:\n  - path: a\n    wieght: 2", 4, 7, `did you mean "weight"`},
		{"type: field_accuracy\nfields:\n  - path: a\n    weight: 0", 4, 15, "has no effect"},
		{"type: field_accuracy\nfields:\n  - path: a\n    formats: [QQ]", 4, 7, "date format"},
	})
}

func TestFieldAccuracyAgainstExpectedOutput(t *testing.T) {
	check := one(t, New(Config{}), "{type: field-accuracy, fields: [{path: a}, {path: b, match: date}]}")
	x := reply(`{"a": 1, "b": "01/31/2025"}`)
	for expected, says := range map[string]string{
		"": "neither expected nor JSON", "tea": "neither expected nor JSON", `{"a": 1}`: "value of b",
	} {
		x.Expected = expected
		if _, err := check.Grader.Grade(context.Background(), x); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("expected_output %q: error %v, want %q in it", expected, err, says)
		}
	}
	x.Expected = `{"a": 2, "b": "2025-01-31"}` // what is JSON null on both sides agrees, too
	if g := grade(t, one(t, New(Config{}), "{type: field_accuracy, fields: [{path: n}]}"), &runner.Exchange{
		Test: &suite.Test{}, Output: `{"n": null}`, Expected: `{"n": null}`,
	}); g.Score != 1 {
		t.Errorf("null and null: %s", g.Reason)
	}
	g := grade(t, check, x)
	if g.Score != 0.5 || len(g.Assertions) != 2 || g.Assertions[0].Passed || !g.Assertions[1].Passed {
		t.Errorf("grade %+v", g)
	}
}

func TestExpression(t *testing.T) {
	runCases(t, []gradeCase{
		{"{type: expression, value: output contains 'tea'}", "green tea", 1, `true for "green tea"`},
		{"{type: expression, value: output == 'tea'}", "", 0, `wanted: output == 'tea'; got: false for ""`},
		{"{type: expression, value: 'len(output) / 10'}", "12345", 0.5, "got: 0.5"},
		{"{type: expression, value: 1}", "", 1, ""},
		{
			"{type: expression, value: 'usage.total_tokens == 0 and cost_usd < 0.1 and turn == 1 and turn_count == 1'}",
			"", 1, "",
		},
		{"{type: expression, value: 'state?.booked ?? false'}", "", 0, ""},
		{"{type: expression, value: 'output matches \"^100%$\"'}", "100%", 1, ""},
		{"{type: expression, value: 'none(split(output, \" \"), # == \"x\")'}", strings.Repeat("a ", 1000), 1, ""},
	})
	runProblems(t, []problemCase{
		{"type: expression", 1, 3, `needs "value"`},
		{"type: expression\nvalue: 'out == 1'", 2, 10, "unknown name out (line 1, column 1"},
		{"type: expression\nvalue: usage.tokens > 1", 2, 10, "has no field tokens"},
		{"type: expression\nvalue: 'len(output'", 2, 10, "not a valid expression"},
		{"type: expression\nvalue: '_nosuch(1)'", 2, 10, "unknown name"},
		{"type: expression\nvalue: output", 2, 10, "the expression is a string"},
		{"type: expression\nvalue: 1 + 'a'", 2, 10, "mismatched types"},
		{"type: expression\nvalue: " + strings.Repeat("1+", 2000) + "1", 2, 10, "not a valid expression"},
	})
}

// Everything an expression may name is there under its name.
func TestExpressionEnvironment(t *testing.T) {
	x := reply("hello")
	x.Text, x.Expected, x.Criteria, x.Turn, x.TurnCount = "all", "exp", "crit", 2, 3
	x.Input = []chat.Message{chat.NewMessage(chat.System, "be nice"), chat.NewMessage(chat.User, "hi")}
	x.Reply = chat.Reply{
		ToolCalls: []chat.ToolCall{{Name: "book", Args: []byte(`{"n": 2}`)}, {Name: "bad", Args: []byte(`{`)}},
		Node:      "menu", State: []byte(`{"cart": [{"id": 7}]}`), Usage: chat.Usage{InputTokens: 3, OutputTokens: 4},
		Cost: chat.Cost{USD: 0.5}, Latency: 1500000,
	}
	x.Test = &suite.Test{Vars: map[string]any{"city": "Rome"}, Metadata: map[string]any{"tier": 1}}
	for _, code := range []string{
		`len(input) == 2 and input[1].role == "user" and input[1].content == "hi"`,
		`output == "hello" and text == "all" and expected_output == "exp" and criteria == "crit"`,
		`turn == 2 and turn_count == 3`,
		`tool_calls[0].name == "book" and tool_calls[0].args.n == 2 and tool_calls[1].args == "{"`,
		`state.cart[0].id == 7 and node == "menu"`,
		`usage.input_tokens + usage.output_tokens == usage.total_tokens and usage.total_tokens == 7`,
		`latency_ms == 1.5 and cost_usd == 0.5`,
		`vars.city == "Rome" and metadata.tier == 1`,
	} {
		check := one(t, New(Config{}), "type: expression\nvalue: '"+strings.ReplaceAll(code, "'", "''")+"'")
		if g := grade(t, check, x); g.Score != 1 {
			t.Errorf("%s: %s", code, g.Reason)
		}
	}
}

// Numbers are compared by value, whole ones exactly at any size, wherever they are from.
func TestExpressionNumbers(t *testing.T) {
	x := reply(`{"id": 9007199254740993, "big": 18446744073709551617, "list": [1, 9007199254740993, 18446744073709551617], "one": 1.0, "huge": 1e40}`)
	x.Reply = chat.Reply{
		State: []byte(`{"id": 9007199254740993, "near": 9007199254740992, "real": 2251799813685248.5, "big": 18446744073709551617, "bigger": 18446744073709551618, "minus": -18446744073709551617, "same": 18446744073709551617.0, "one": 1}`),
		ToolCalls: []chat.ToolCall{{
			Name: "book", Args: []byte(`{"id": 18446744073709551616, "list": [18446744073709551617]}`),
		}},
		Cost: chat.Cost{USD: 0.5},
	}
	x.Test = &suite.Test{Vars: map[string]any{"big": json.Number("18446744073709551617"), "budget": json.Number("0.5")}}
	for _, tc := range []struct {
		code     string
		contains bool
	}{
		{`fromJSON(output).id == 9007199254740993`, true},
		{`fromJSON(output).id == 9007199254740992`, false},
		{`fromJSON(output).id != state.near`, true},
		{`fromJSON(output).id == 9007199254740992.0`, false},
		{`9007199254740992.0 < state.id`, true},
		{`state.id > state.real && 2251799813685249 > state.real`, true},
		{`state.big == state.bigger`, false},
		{`state.big < state.bigger && state.bigger > state.big && state.minus < state.big`, true},
		{`state.big <= state.bigger && state.big >= state.same`, true},
		{`state.big >= state.bigger`, false},
		{`state.big == state.same && state.big == vars.big`, true},
		{`state.big == fromJSON(output).big`, true},
		{`fromJSON(output).big == tool_calls[0].args.id`, false},
		{`fromJSON(output).huge == 1e40 && 1e41 > fromJSON(output).huge`, true},
		{`9007199254740992 in fromJSON(output).list`, false},
		{`state.id in fromJSON(output).list and state.big in fromJSON(output).list`, true},
		{`state.bigger not in fromJSON(output).list`, true},
		{`state.one in 1..3 and state.one in [1, 2] and "a" in {"a": 1}`, true},
		{`any(fromJSON(output).list, # == state.bigger)`, false},
		{`fromJSON(output).list == [1, 9007199254740993, vars.big]`, true},
		{`tool_calls[0].args == {"id": tool_calls[0].args.id, "list": [state.big]}`, true},
		{`tool_calls[0].args == {"id": state.big, "list": [state.big]}`, false},
		{`tool_calls[0].args != {"id": state.big, "list": [state.big]}`, true},
		{`fromJSON(output).one == 1 && 1.0 == state.one && state.one == fromJSON(output).one`, true},
		{`state.one == "1"`, false},
		{`state.nothing == nil && nil != state.one`, true},
		{`cost_usd <= vars.budget && vars.budget == cost_usd`, true},
		{`cost_usd > vars.budget`, false},
		{`string(state.big) == "18446744073709551617" && toJSON(vars.big) == "18446744073709551617"`, true},
		{`state.one > 0/0.0 || state.one < 0/0.0 || 0/0.0 == state.one`, false},
		{`state.one < 1/0.0`, true},
	} {
		check := one(t, New(Config{}), "{type: expression, value: "+strconv.Quote(tc.code)+"}")
		if g := grade(t, check, x); (g.Score == 1) != tc.contains {
			t.Errorf("%s: %s", tc.code, g.Reason)
		}
	}
	// The language cannot count with larger numbers, so it decides nothing.
	for _, code := range []string{
		"state.bigger - state.big == 0", "max(state.big, 1) > 0", "len(state.big) > 0", "state.big contains '1'",
		"state.big < 'a'",
	} {
		check := one(t, New(Config{}), "{type: expression, value: "+strconv.Quote(code)+"}")
		if g, err := check.Grader.Grade(t.Context(), x); err == nil || strings.Contains(err.Error(), "figure") {
			t.Errorf("%s: %+v, %v", code, g, err)
		}
	}
}

func TestExpressionUndecided(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, tc := range []struct {
		code, says string
		ctx        context.Context
	}{
		{"2", "the number 2 is not from 0 to 1", context.Background()},
		{"-0.5 * 1", "not from 0 to 1", context.Background()},
		{"state", "expected true, false or a number", context.Background()},
		{"state.x.y == 1", "use ?. and ??", context.Background()},
		{"tool_calls[3].name == 'x'", "out of range", context.Background()},
		{"let r = 1..2000; all(r, all(r, all(r, true)))", "more than 1000000 steps", context.Background()},
		{"let r = 1..2000; all(r, all(r, true))", "canceled", ctx},
		{"len(map(1..900000, 1..900000)) == 1", "memory budget exceeded", context.Background()},
	} {
		check := one(t, New(Config{}), "type: expression\nvalue: \""+tc.code+"\"")
		if _, err := check.Grader.Grade(tc.ctx, reply("")); err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: error %v, want %q in it", tc.code, err, tc.says)
		}
	}
}
