package answer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// decode reads data that is one JSON value. Whole numbers that fit become int64 and others float64, which filters of
// paths can compare; a number that either would write differently stays a json.Number.
func decode(data []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(data, []byte("\ufeff"))))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the value")
	}
	return withNumbers(v), nil
}

// endsEarly reports whether data that is no JSON would be the beginning of some.
func endsEarly(err error) bool {
	return errors.Is(err, io.ErrUnexpectedEOF)
}

// withNumbers changes lists and mappings in place.
func withNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := strconv.ParseInt(v.String(), 10, 64); err == nil && strconv.FormatInt(n, 10) == v.String() {
			return n
		}
		if f, err := strconv.ParseFloat(v.String(), 64); err == nil &&
			strconv.FormatFloat(f, 'f', -1, 64) == v.String() {
			return f
		}
	case []any:
		for i := range v {
			v[i] = withNumbers(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = withNumbers(v[name])
		}
	}
	return v
}

// encode writes a value as JSON, with <, > and & as they are.
func encode(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil { // what was decoded can be encoded
		return json.RawMessage("null")
	}
	return bytes.TrimSpace(b.Bytes())
}

// scalar returns a text as it is, and a number or a boolean as JSON writes it.
func scalar(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case int64:
		return strconv.FormatInt(v, 10), true
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	case json.Number:
		return v.String(), true
	case bool:
		return strconv.FormatBool(v), true
	}
	return "", false
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	case json.Number:
		f, err := v.Float64()
		return f, err == nil && !math.IsInf(f, 0)
	}
	return 0, false
}

// same reports whether two values are equal as JSON; 1 and 1.0 are the same, 1 and "1" are not.
func same(a, b any) bool {
	if x, ok := number(a); ok {
		y, ok := number(b)
		return ok && x == y
	}
	switch a := a.(type) {
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !same(a[i], b[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for name := range a {
			if other, ok := b[name]; !ok || !same(a[name], other) {
				return false
			}
		}
		return true
	}
	return a == b
}

// sentence writes a value of an agent's error: its message, if it is a mapping with one.
func sentence(v any) string {
	if m, ok := v.(map[string]any); ok {
		for _, name := range []string{"message", "detail", "error", "title"} {
			if inner, ok := m[name]; ok && inner != nil {
				return sentence(inner)
			}
		}
	}
	if s, ok := scalar(v); ok {
		return s
	}
	return string(encode(v))
}

// clip cuts a text of an agent to so many characters, on one line.
func clip(s string, most int) string {
	if len(s) > 4*most {
		s = s[:4*most] // a character has at most four bytes
	}
	runes := []rune(strings.Join(strings.Fields(strings.ToValidUTF8(s, "\ufffd")), " "))
	if len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return string(runes)
}

// Size writes a number of bytes.
func Size(bytes int) string {
	switch {
	case bytes >= 1<<20 && bytes%(1<<20) == 0:
		return fmt.Sprintf("%d MB", bytes>>20)
	case bytes >= 1<<10 && bytes%(1<<10) == 0:
		return fmt.Sprintf("%d KB", bytes>>10)
	}
	return fmt.Sprintf("%d bytes", bytes)
}
