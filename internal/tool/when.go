package tool

import (
	"encoding/json"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// decoded returns arguments as plain values. What is no JSON is the text that it is.
func decoded(args json.RawMessage) any {
	var v any
	if len(args) == 0 {
		return map[string]any{}
	}
	if json.Unmarshal(args, &v) != nil {
		return string(args)
	}
	return v
}

// holds reports whether part is a part of a value: of mappings, the keys of part must be there and hold theirs; lists are equally long, and each
// item holds its own; a text between slashes is a pattern that the text, number or boolean matches; other values are equal.
func holds(value, part any) bool {
	switch part := part.(type) {
	case map[string]any:
		fields, ok := value.(map[string]any)
		if !ok {
			return false
		}
		for name, want := range part {
			got, ok := fields[name]
			if !ok || !holds(got, want) {
				return false
			}
		}
		return true
	case []any:
		items, ok := value.([]any)
		if !ok || len(items) != len(part) {
			return false
		}
		for i := range part {
			if !holds(items[i], part[i]) {
				return false
			}
		}
		return true
	case string:
		if expression, ok := pattern(part); ok {
			text, plain := scalar(value)
			return plain && matches(expression, text)
		}
		return value == part
	}
	want, numeric := number(part)
	if got, ok := number(value); ok && numeric {
		return got == want
	}
	return reflect.DeepEqual(value, part)
}

// pattern returns what stands between the slashes of a text.
func pattern(text string) (string, bool) {
	if len(text) < 2 || !strings.HasPrefix(text, "/") || !strings.HasSuffix(text, "/") {
		return "", false
	}
	return text[1 : len(text)-1], true
}

// matches reports whether a pattern matches. Patterns were checked when they were read.
func matches(expression, text string) bool {
	compiled, err := regexp.Compile(expression)
	return err == nil && compiled.MatchString(text)
}

func scalar(v any) (text string, ok bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	}
	return "", false
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int:
		return float64(v), true
	case int64:
		return float64(v), true
	case uint64:
		return float64(v), true
	case float64:
		return v, true
	case json.Number:
		f, err := v.Float64()
		return f, err == nil
	}
	return 0, false
}
