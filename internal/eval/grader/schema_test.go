package grader

import (
	"context"
	"strings"
	"testing"
)

// schemaCases hold a schema, replies that follow it, and replies that break it.
// They follow the specification, not a library: whatever validates has to agree with them.
var schemaCases = []struct {
	schema    string
	good, bad []string
}{
	{
		`{"type": "integer"}`,
		[]string{`1`, `1.0`, `1e2`, `-0`, `123456789012345678901`},
		[]string{`1.5`, `"1"`, `null`, `true`, `123456789012345678901.5`},
	},
	{`{"type": ["number", "null"]}`, []string{`1`, `1.5`, `null`}, []string{`"1"`, `{}`, `false`}},
	{`{"type": "object"}`, []string{`{}`}, []string{`[]`, `null`}},
	{
		`{"enum": [1, "a", null, [1], {"a": 1}]}`,
		[]string{`1.0`, `"a"`, `null`, `[1.0]`, `{"a": 1}`},
		[]string{`"1"`, `true`, `[]`, `{"a": 2}`},
	},
	{`{"enum": [false]}`, []string{`false`}, []string{`0`, `""`, `null`}},
	{`{"enum": [9007199254740993]}`, []string{`9007199254740993`}, []string{`9007199254740992`, `9007199254740994`}},
	{`{"const": null}`, []string{`null`}, []string{`0`, `false`, `{}`}},
	{
		`{"const": {"a": [1, {"b": 2}]}}`,
		[]string{`{"a": [1.0, {"b": 2}]}`},
		[]string{`{"a": [1, {"b": "2"}]}`, `{"a": [{"b": 2}, 1]}`},
	},
	{`{"minimum": 9007199254740993}`, []string{`9007199254740993`, `"a"`}, []string{`9007199254740992`}},
	{`{"maximum": 9223372036854775808}`, []string{`9223372036854775808`}, []string{`9223372036854775809`}},
	{`{"minimum": 0.1, "exclusiveMaximum": 0.3}`, []string{`0.1`, `0.2`}, []string{`0.3`, `0.09999999999999999999`}},
	{`{"maximum": 0.1}`, []string{`0.1`}, []string{`0.100000000000000000001`}},
	{`{"minimum": 0.100000000000000000001}`, []string{`0.100000000000000000001`}, []string{`0.1`}},
	{`{"exclusiveMinimum": 0}`, []string{`1e-300`}, []string{`0`, `-0.0`}},
	{`{"multipleOf": 0.01}`, []string{`1.13`, `19.99`, `4.35`, `0`}, []string{`1.135`, `0.001`}},
	{`{"multipleOf": 10}`, []string{`100000000000000000`}, []string{`100000000000000001`, `5`}},
	{`{"multipleOf": 2}`, []string{`18014398509481986`}, []string{`18014398509481987`}},
	{`{"minLength": 2, "maxLength": 3}`, []string{`"éß"`, `"👍👍👍"`, `12345`}, []string{`"👍"`, `"abcd"`}},
	{`{"pattern": "^[A-Z]{2}-\\d+$"}`, []string{`"AB-1"`, `5`}, []string{`"AB-"`, `"xAB-1"`}},
	{`{"pattern": "b"}`, []string{`"abc"`}, []string{`"ac"`}},
	{`{"not": {"pattern": "."}}`, []string{`""`}, []string{`"a"`, `1`}},
	{`{"not": {"minLength": 20}}`, []string{`""`}, []string{`1`, `123456789012345678901234567890`}},
	{`{"format": "date"}`, []string{`"2024-02-29"`, `5`}, []string{`"2023-02-29"`, `"29.02.2024"`}},
	{`{"format": "date-time"}`, []string{`"2024-02-29T10:00:00Z"`}, []string{`"2024-02-29 10:00"`}},
	{`{"format": "time"}`, []string{`"10:00:00Z"`}, []string{`"25:00:00Z"`}},
	{`{"format": "email"}`, []string{`"a@example.com"`}, []string{`"a"`}},
	{`{"format": "uri"}`, []string{`"https://example.com/a?b"`}, []string{`"/a"`}},
	{`{"format": "uuid"}`, []string{`"2eb8aa08-aa98-11ea-b4aa-73b441d16380"`}, []string{`"2eb8aa08"`}},
	{`{"format": "ipv4"}`, []string{`"127.0.0.1"`}, []string{`"127.0.0.256"`}},
	{`{"format": "ipv6"}`, []string{`"::1"`}, []string{`"1.2.3.4"`}},
	{`{"format": "hostname"}`, []string{`"www.example.com"`}, []string{`"-bad-"`}},
	{`{"format": "duration"}`, []string{`"P1DT2H"`}, []string{`"1 day"`}},
	{`{"format": "regex"}`, []string{`"a+"`}, []string{`"("`}},
	{`{"format": "json-pointer"}`, []string{`"/a/~0"`}, []string{`"a"`}},
	{`{"required": ["a", "b"]}`, []string{`{"a": null, "b": 1}`, `[]`}, []string{`{"a": 1}`, `{"A": 1, "b": 1}`}},
	{
		`{"properties": {"a": {"type": "string"}}, "additionalProperties": false}`,
		[]string{`{"a": ""}`, `{}`, `1`},
		[]string{`{"b": 1}`, `{"A": ""}`, `{"a": 1}`},
	},
	{`{"properties": {"a": true, "b": false}}`, []string{`{"a": 1}`, `{}`}, []string{`{"b": 1}`}},
	{
		`{"patternProperties": {"^x": {"type": "integer"}}, "additionalProperties": {"type": "string"}}`,
		[]string{`{"x1": 1, "y": ""}`},
		[]string{`{"x1": ""}`, `{"y": 1}`},
	},
	{`{"propertyNames": {"maxLength": 2}}`, []string{`{"ab": 1}`}, []string{`{"abc": 1}`}},
	{`{"minProperties": 1, "maxProperties": 2}`, []string{`{"a": 1}`}, []string{`{}`, `{"a": 1, "b": 1, "c": 1}`}},
	{
		`{"dependentRequired": {"card": ["address"]}}`,
		[]string{`{"card": 1, "address": 1}`, `{"address": 1}`},
		[]string{`{"card": 1}`},
	},
	{
		`{"dependentSchemas": {"card": {"required": ["address"]}}}`,
		[]string{`{"card": 1, "address": 1}`},
		[]string{`{"card": 1}`},
	},
	{
		`{"$schema": "http://json-schema.org/draft-07/schema#", "dependencies": {"a": ["b"], "c": {"required": ["d"]}}}`,
		[]string{`{"a": 1, "b": 1}`, `{"c": 1, "d": 1}`},
		[]string{`{"a": 1}`, `{"c": 1}`},
	},
	{
		`{"items": {"type": "string"}, "minItems": 1, "maxItems": 2}`,
		[]string{`["a"]`, `{}`},
		[]string{`[]`, `[1]`, `["a", "b", "c"]`},
	},
	{`{"prefixItems": [{"type": "string"}], "items": false}`, []string{`["a"]`, `[]`}, []string{`[1]`, `["a", 1]`}},
	{
		`{"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "string"}], "additionalItems": false}`,
		[]string{`["a"]`},
		[]string{`[1]`, `["a", 1]`},
	},
	{
		`{"contains": {"const": 1}, "minContains": 2, "maxContains": 3}`,
		[]string{`[1, 0, 1.0]`},
		[]string{`[1]`, `[1, 1, 1, 1]`, `[]`},
	},
	{`{"contains": {"const": 1}, "minContains": 0}`, []string{`[]`}, nil},
	{
		`{"uniqueItems": true}`,
		[]string{`[1, true, "1", [1], null]`, `[9007199254740992, 9007199254740993]`},
		[]string{`[1, 1.0]`, `[{"a": 1, "b": 2}, {"b": 2, "a": 1}]`, `[9007199254740993, 9007199254740993]`},
	},
	{`{"allOf": [{"minimum": 1}, {"maximum": 2}]}`, []string{`1.5`}, []string{`0`, `3`}},
	{`{"anyOf": [{"type": "string"}, {"minimum": 2}]}`, []string{`"a"`, `2`}, []string{`1`}},
	{`{"oneOf": [{"type": "integer"}, {"minimum": 2}]}`, []string{`1`, `2.5`}, []string{`3`, `1.5`}},
	{`{"not": {"type": "integer"}}`, []string{`"a"`}, []string{`1`}},
	{
		`{"if": {"properties": {"k": {"const": "a"}}, "required": ["k"]}, "then": {"required": ["x"]}, "else": {"required": ["y"]}}`,
		[]string{`{"k": "a", "x": 1}`, `{"k": "b", "y": 1}`},
		[]string{`{"k": "a", "y": 1}`, `{"k": "b", "x": 1}`},
	},
	{
		`{"$defs": {"n": {"properties": {"next": {"$ref": "#/$defs/n"}, "v": {"type": "integer"}}, "required": ["v"]}}, "$ref": "#/$defs/n"}`,
		[]string{`{"v": 1, "next": {"v": 2}}`},
		[]string{`{"v": 1, "next": {"v": "2"}}`, `{"v": 1, "next": {}}`},
	},
	{
		`{"$defs": {"a": {"$anchor": "here", "type": "string"}}, "items": {"$ref": "#here"}}`,
		[]string{`["a"]`},
		[]string{`[1]`},
	},
	{
		`{"$defs": {"a": {"$id": "part.json", "type": "string"}}, "items": {"$ref": "part.json"}}`,
		[]string{`["a"]`},
		[]string{`[1]`},
	},
	{
		`{"definitions": {"a/b": {"type": "string"}}, "properties": {"x": {"$ref": "#/definitions/a~1b"}}}`,
		[]string{`{"x": ""}`},
		[]string{`{"x": 1}`},
	},
	{
		`{"$defs": {"a": {"type": "string"}}, "$ref": "#/$defs/a", "maxLength": 1}`,
		[]string{`"a"`},
		[]string{`1`, `"ab"`},
	},
	{
		`{"$defs": {"a": {"type": "integer"}}, "definitions": {"b": {"type": "string"}}, "properties": {"a": {"$ref": "#/$defs/a"}, "b": {"$ref": "#/definitions/b"}}}`,
		[]string{`{"a": 1, "b": ""}`},
		[]string{`{"a": ""}`, `{"b": 1}`},
	},
	{`{"components": {"a": {"type": "string"}}, "$ref": "#/components/a"}`, []string{`"a"`}, []string{`1`}},
	{
		`{"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"a": {"type": "string"}}, "properties": {"x": {"$ref": "#/definitions/a", "maxLength": 1}}}`,
		[]string{`{"x": "ab"}`},
		[]string{`{"x": 1}`},
	},
	{`{"$ref": "#"}`, nil, []string{`1`}},
	{`{"$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}]}}, "anyOf": [{"$ref": "#/$defs/a"}]}`, nil, []string{`1`}},
	{
		`{"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 1, "exclusiveMinimum": true}`,
		[]string{`2`},
		[]string{`1`},
	},
	{
		`{"$schema": "https://json-schema.org/draft/2019-09/schema", "items": [{"type": "string"}], "additionalItems": false}`,
		[]string{`["a"]`},
		[]string{`[1]`, `["a", 1]`},
	},
	{
		`{"allOf": [{"properties": {"a": true}}], "unevaluatedProperties": false}`,
		[]string{`{"a": 1}`},
		[]string{`{"b": 1}`},
	},
	{`{"prefixItems": [true], "unevaluatedItems": false}`, []string{`[1]`}, []string{`[1, 2]`}},
}

func TestSchemaVerdicts(t *testing.T) {
	for _, tc := range schemaCases {
		check := one(t, New(Config{}), "{type: is_json, schema: "+tc.schema+"}")
		for want, replies := range [][]string{tc.bad, tc.good} {
			for _, text := range replies {
				g, err := check.Grader.Grade(context.Background(), reply(text))
				if err != nil || g.Score != float64(want) {
					t.Errorf("schema %s, reply %s: score %v, want %d (%s, %v)", tc.schema, text, g.Score, want,
						g.Reason, err)
				}
				if want == 0 && !strings.Contains(g.Reason, "at /") {
					t.Errorf("schema %s, reply %s: %q names no place", tc.schema, text, g.Reason)
				}
			}
		}
	}
}

func TestSchemaNumberTooSmall(t *testing.T) {
	check := one(t, New(Config{}), "{type: is_json, schema: {minimum: 0}}")
	_, err := check.Grader.Grade(context.Background(), reply("-1e-1000000"))
	if err == nil || !strings.Contains(err.Error(), "decimal places") {
		t.Errorf("error %v", err)
	}
}

func BenchmarkIsJSONSchema(b *testing.B) {
	check := one(b, New(Config{}), `{type: is_json, schema: {type: object, required: [id, items], properties: {id: {type: integer, minimum: 1}, email: {type: string, pattern: '@'}, items: {type: array, items: {$ref: '#/$defs/item'}}}, $defs: {item: {type: object, required: [sku, price], properties: {sku: {type: string, minLength: 1}, price: {type: number, minimum: 0}, tags: {type: array, items: {enum: [a, b]}, uniqueItems: true}}, additionalProperties: false}}}}`)
	x := reply(`{"id": 7, "email": "a@example.com", "items": [{"sku": "x", "price": 1.5, "tags": ["a", "b"]}, {"sku": "y", "price": 2}, {"sku": "z", "price": 3, "tags": []}]}`)
	b.ReportAllocs()
	for b.Loop() {
		if g, err := check.Grader.Grade(context.Background(), x); err != nil || g.Score != 1 {
			b.Fatal(g, err)
		}
	}
}
