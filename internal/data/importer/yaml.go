package importer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// encode writes a document as YAML that reads back the same. escaped says that plain texts in it may not become placeholders.
func encode(document pairs, escaped bool) ([]byte, error) {
	for _, literal := range []bool{true, false} {
		e := encoder{escaped: escaped, literal: literal}
		tree := e.value(document)
		data, err := yaml.MarshalWithOptions(tree, yaml.IndentSequence(true), yaml.UseLiteralStyleIfMultiline(literal))
		if err != nil {
			return nil, fmt.Errorf("write YAML: %w", err)
		}
		if back, err := source.ParseYAML("", data); err == nil && same(back, tree) {
			return data, nil
		}
	}
	return nil, source.Invalid("the suite would be larger than a suite may be: import fewer files at once")
}

// encoder makes values that the YAML encoder takes.
type encoder struct{ escaped, literal bool }

func (e encoder) value(v any) any {
	switch v := v.(type) {
	case pairs:
		m := yaml.MapSlice{}
		for _, one := range v {
			m = append(m, yaml.MapItem{Key: one.name, Value: e.value(one.value)})
		}
		return named(m)
	case []any:
		list := make([]any, len(v))
		for i, one := range v {
			list[i] = e.value(one)
		}
		return list
	case source.Value:
		return e.parsed(v)
	case string:
		if e.escaped {
			v = string(escape(v))
		}
		return e.text(v)
	case written:
		return e.text(string(v))
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return int(v)
		}
	}
	return v
}

// parsed returns a value of a file.
func (e encoder) parsed(v source.Value) any {
	switch v.Kind {
	case source.List:
		list := make([]any, len(v.Items))
		for i, item := range v.Items {
			list[i] = e.parsed(item)
		}
		return list
	case source.Map:
		m := yaml.MapSlice{}
		for _, f := range v.Fields {
			m = append(m, yaml.MapItem{Key: f.Name, Value: e.parsed(f.Value)})
		}
		return named(m)
	case source.String:
		return e.value(v.Scalar)
	}
	return v.Any()
}

// named returns a mapping that the encoder may write as it is, or one in the form of JSON if a name needs quotes.
func named(m yaml.MapSlice) any {
	for _, item := range m {
		if name, ok := item.Key.(string); !ok || !plainKey.MatchString(name) {
			return flow{m}
		}
	}
	return m
}

var plainKey = regexp.MustCompile(`^[A-Za-z][\w.-]*$`)

// flow is a mapping that is written as JSON writes it, which is YAML too.
type flow struct{ of yaml.MapSlice }

// MarshalYAML returns the mapping in braces.
func (f flow) MarshalYAML() ([]byte, error) { return inJSON(nil, f.of) }

// quoted is a text that is written as JSON writes it.
type quoted string

// MarshalYAML returns the text in quotes.
func (q quoted) MarshalYAML() ([]byte, error) { return inJSON(nil, string(q)) }

// inJSON appends a value in the form of JSON, mappings in their order.
func inJSON(b []byte, v any) ([]byte, error) {
	var err error
	switch v := v.(type) {
	case flow:
		return inJSON(b, v.of)
	case quoted:
		return inJSON(b, string(v))
	case yaml.MapSlice:
		b = append(b, '{')
		for i, item := range v {
			if i > 0 {
				b = append(b, ", "...)
			}
			if b, err = inJSON(b, item.Key); err != nil {
				return nil, err
			}
			if b, err = inJSON(append(b, ": "...), item.Value); err != nil {
				return nil, err
			}
		}
		return append(b, '}'), nil
	case []any:
		b = append(b, '[')
		for i, item := range v {
			if i > 0 {
				b = append(b, ", "...)
			}
			if b, err = inJSON(b, item); err != nil {
				return nil, err
			}
		}
		return append(b, ']'), nil
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return append(b, bytes.TrimSuffix(text.Bytes(), []byte("\n"))...), nil
}

// text returns a text that the encoder may write as it is, or one in quotes.
func (e encoder) text(s string) any {
	if e.literal && isPlain(s) {
		return s
	}
	return quoted(s)
}

// isPlain reports whether a text needs no quotes in YAML, or can be written as a block of lines.
func isPlain(s string) bool {
	if s == "" || s != strings.TrimSpace(s) || strings.ContainsAny(s, "\t\r:#{}[]&*!|>'\"%@`\\~,?") && !strings.Contains(s, "\n") || strings.Contains(s, " \n") {
		return false
	}
	for _, r := range s {
		if r != '\n' && (r < ' ' || r > '~') && r < 0xa1 || r == 0x2028 || r == 0x2029 || r == 0xfeff {
			return false
		}
	}
	first := s[0]
	return first >= 'a' && first <= 'z' || first >= 'A' && first <= 'Z'
}

// same reports whether what was read back is what was written.
func same(got source.Value, want any) bool {
	switch want := want.(type) {
	case flow:
		return same(got, want.of)
	case yaml.MapSlice:
		if got.Kind != source.Map || len(got.Fields) != len(want) {
			return len(want) == 0 && got.Kind == source.Map
		}
		for i, item := range want {
			if got.Fields[i].Name != item.Key || !same(got.Fields[i].Value, item.Value) {
				return false
			}
		}
		return true
	case []any:
		if got.Kind != source.List || len(got.Items) != len(want) {
			return false
		}
		for i, item := range want {
			if !same(got.Items[i], item) {
				return false
			}
		}
		return true
	case string, quoted:
		return got.Kind == source.String && got.Scalar == asText(want)
	}
	return got.Kind == source.FromAny(want).Kind
}

func asText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case quoted:
		return string(v)
	}
	return ""
}
