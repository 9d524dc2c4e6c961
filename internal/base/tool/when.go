package tool

import (
	"bytes"
	"encoding/json"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// decoded returns arguments as plain values, with numbers as they were written. What is no JSON is the text that it is.
func decoded(args json.RawMessage) any {
	if len(args) == 0 {
		return map[string]any{}
	}
	var v any
	d := json.NewDecoder(bytes.NewReader(args))
	d.UseNumber()
	if !json.Valid(args) || d.Decode(&v) != nil {
		return string(args)
	}
	return v
}

// contains reports whether part is a part of a value: of mappings, the keys of part must be there and hold theirs;
// lists are equally long, and each item holds its own; a text between slashes is a pattern that the text, number or
// boolean matches; other values are equal.
func contains(value, part any) bool {
	switch part := part.(type) {
	case map[string]any:
		fields, ok := value.(map[string]any)
		if !ok {
			return false
		}
		for name, want := range part {
			got, ok := fields[name]
			if !ok || !contains(got, want) {
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
			if !contains(items[i], part[i]) {
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
		return sameNumber(got, want)
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
	}
	n, ok := number(v)
	if f, err := n.Float64(); !isInteger(n) && err == nil {
		return strconv.FormatFloat(f, 'f', -1, 64), ok
	}
	return n.String(), ok
}

// number returns a number in digits, a whole one without a fraction of zeros.
func number(v any) (n json.Number, ok bool) {
	switch v := v.(type) {
	case int:
		n = json.Number(strconv.Itoa(v))
	case float64:
		n = json.Number(strconv.FormatFloat(v, 'g', -1, 64))
	case json.Number:
		n = v
		if whole, fraction, found := strings.Cut(v.String(), "."); found && strings.Trim(fraction, "0") == "" {
			n = json.Number(whole)
		}
	default:
		return "", false
	}
	if n == "-0" {
		n = "0"
	}
	return n, true
}

// sameNumber compares whole numbers in all their digits, which a float64 does not hold, and others as float64.
func sameNumber(a, b json.Number) bool {
	if isInteger(a) && isInteger(b) {
		return a == b
	}
	x, errX := a.Float64()
	y, errY := b.Float64()
	return errX == nil && errY == nil && x == y
}

func isInteger(n json.Number) bool { return !strings.ContainsAny(n.String(), ".eE") }
