package source

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Text returns a scalar as it was written; numbers and booleans are text too.
func (n Node) Text() string {
	switch n.Kind {
	case String, Number, Bool:
		return n.Scalar
	}
	n.Report("write text, in quotes if it has special characters", "expected text, got %s", n.Kind)
	return ""
}

// Texts returns a list of texts; a single text is a list of one.
func (n Node) Texts() []string {
	if n.Kind == String || n.Kind == Number || n.Kind == Bool {
		return []string{n.Scalar}
	}
	var out []string
	for _, item := range n.List() {
		out = append(out, item.Text())
	}
	return out
}

// Bool returns a boolean, or a text that reads true or false.
func (n Node) Bool() bool {
	if n.Kind == Bool || n.Kind == String && (n.Scalar == "true" || n.Scalar == "false") {
		return n.Scalar == "true"
	}
	n.Report("write true or false", "expected true or false, got %s", n.describe())
	return false
}

// Int returns a whole number of at least low; low when the value is none.
func (n Node) Int(low int) int {
	f, ok := n.Float()
	if !ok || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		n.Report("write a whole number", "expected a whole number, got %s", n.describe())
		return low
	}
	if int(f) < low {
		n.Report(fmt.Sprintf("use %d or more", low), "%s is too small", n.Scalar)
		return low
	}
	return int(f)
}

// Number returns a number between low and high, both included; use math.Inf for an open end.
func (n Node) Number(low, high float64) float64 {
	f, ok := n.Float()
	if !ok {
		n.Report("write a number", "expected a number, got %s", n.describe())
		return 0
	}
	if f < low || f > high {
		hint := fmt.Sprintf("use a number from %g to %g", low, high)
		if math.IsInf(high, 1) {
			hint = fmt.Sprintf("use %g or more", low)
		}
		n.Report(hint, "%s is out of range", n.Scalar)
		return low
	}
	return f
}

// Duration returns a positive time span: a number of seconds, or text such as 500ms or 2m.
func (n Node) Duration() time.Duration {
	var d time.Duration
	if f, ok := n.Float(); ok && f < math.MaxInt64/float64(time.Second) {
		d = time.Duration(f * float64(time.Second))
	} else if parsed, err := time.ParseDuration(n.Scalar); err == nil {
		d = parsed
	}
	if d <= 0 {
		n.Report("write seconds, or a time span such as 500ms, 30s or 2m", "expected a positive time span, got %s",
			n.describe())
		return 0
	}
	return d
}

// OneOf returns the choice that the text names, or nothing. Hyphens count as underscores.
func (n Node) OneOf(choices ...string) string {
	text := strings.ReplaceAll(n.Text(), "-", "_")
	for _, c := range choices {
		if text == c {
			return c
		}
	}
	if n.Kind != List && n.Kind != Map {
		n.Report("use one of: "+strings.Join(choices, ", "), "unknown value %q", n.Scalar)
	}
	return ""
}

func (n Node) describe() string {
	if n.Kind == List || n.Kind == Map || n.Kind == Null {
		return n.Kind.String()
	}
	return strconv.Quote(clip(n.Scalar, 60))
}

func clip(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
