package grader

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
)

// parseJSON parses a text that is one JSON value with nothing but white space around it.
// Whole numbers that fit become int64, larger ones wide, all others float64.
func parseJSON(text string) (any, error) {
	v, err := parseExactJSON(text)
	if err != nil {
		return nil, err
	}
	return plainNumbers(v), nil
}

// parseExactJSON is parseJSON with each number as it is written, a json.Number.
// A number with an exponent beyond float64 is an error: written out, it could be huge.
func parseExactJSON(text string) (any, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, errors.New("the text is empty")
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, errors.New("it ends in the middle")
		}
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the value")
	}
	for n := range numbers(v) {
		if _, err := n.Float64(); err != nil && strings.ContainsAny(n.String(), "eE") {
			return nil, fmt.Errorf("the number %.20s… is out of range", n)
		}
	}
	return v, nil
}

// numbers returns the numbers of a decoded value.
func numbers(v any) iter.Seq[json.Number] {
	return func(yield func(json.Number) bool) { eachNumber(v, yield) }
}

func eachNumber(v any, yield func(json.Number) bool) bool {
	switch v := v.(type) {
	case json.Number:
		return yield(v)
	case []any:
		for i := range v {
			if !eachNumber(v[i], yield) {
				return false
			}
		}
	case map[string]any:
		for k := range v {
			if !eachNumber(v[k], yield) {
				return false
			}
		}
	}
	return true
}

// plainNumbers returns a decoded value with its numbers as plainNumber has them.
// Lists and mappings are changed in place.
func plainNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		return plainNumber(v.String())
	case []any:
		for i := range v {
			v[i] = plainNumbers(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = plainNumbers(v[k])
		}
	}
	return v
}

// unfence returns the inside of a text that is one fenced code block. The fence may be marked json.
func unfence(text string) (inside string, fenced bool) {
	inside, opened := strings.CutPrefix(strings.TrimSpace(text), "```")
	inside, closed := strings.CutSuffix(inside, "```")
	head, rest, lines := strings.Cut(inside, "\n")
	if head = strings.TrimSpace(head); !opened || !closed || !lines || head != "" && !strings.EqualFold(head, "json") {
		return text, false
	}
	return rest, true
}

// lenientJSON parses JSON that may stand in a fenced code block.
func lenientJSON(text string) (any, error) {
	inside, _ := unfence(text)
	return parseJSON(inside)
}

// sameJSON reports whether two JSON values are equal. Numbers are compared by value, exactly at any size: 1 equals 1.0.
// Texts are equal however their accents were typed (NFC).
func sameJSON(a, b any) bool {
	if x, ok := figureOf(a); ok {
		y, ok := figureOf(b)
		return ok && x == y
	}
	switch a := a.(type) {
	case string:
		b, ok := b.(string)
		return ok && caseCounts.of(a) == caseCounts.of(b)
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !sameJSON(a[i], b[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for k, v := range a {
			other, ok := b[k]
			if !ok || !sameJSON(v, other) {
				return false
			}
		}
		return true
	}
	return a == b
}

// jsonText writes a JSON value.
func jsonText(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// show writes a JSON value for evidence, shortened.
func show(v any) string {
	text := jsonText(v)
	if len(text) > maxQuoted {
		text = text[:runeStart(text, maxQuoted)] + "…"
	}
	return visible(text)
}
