package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/internal/replay"
)

// maxDigits bounds numbers: PostgreSQL writes a short number with a large exponent in full length.
const maxDigits = 1_000

// plainJSON returns JSON that PostgreSQL can keep as JSONB, as text; "" for null and for nothing. ok is false for
// invalid JSON. JSONB allows no NUL and no half surrogate pairs in strings: U+FFFD replaces them. It allows no numbers
// beyond a bound: they become strings.
func plainJSON(raw []byte) (text string, ok bool) {
	raw = bytes.Trim(raw, " \t\r\n")
	if len(raw) == 0 || string(raw) == "null" {
		return "", true
	}
	if !json.Valid(raw) {
		return "", false
	}
	if !utf8.Valid(raw) {
		raw = bytes.ToValidUTF8(raw, []byte("\uFFFD"))
	}
	w := jsonRewriter{raw: raw}
	for at := 0; at < len(raw); {
		switch c := raw[at]; {
		case c == '"':
			at = w.text(at + 1)
		case c == '-' || '0' <= c && c <= '9':
			at = w.number(at)
		default:
			at++
		}
	}
	return w.result(), true
}

// jsonRewriter replaces parts of valid JSON.
type jsonRewriter struct {
	raw, out []byte
	// copied is how much of raw is in out.
	copied int
}

// replace writes with in the place of raw[from:to].
func (w *jsonRewriter) replace(from, to int, with string) {
	w.out = append(append(w.out, w.raw[w.copied:from]...), with...)
	w.copied = to
}

func (w *jsonRewriter) result() string {
	if w.copied == 0 {
		return string(w.raw)
	}
	return string(append(w.out, w.raw[w.copied:]...))
}

// text passes over a string and returns where it has ended.
func (w *jsonRewriter) text(at int) int {
	for {
		switch w.raw[at] {
		case '"':
			return at + 1
		case '\\':
			at = w.escape(at)
		default:
			at++
		}
	}
}

// escape passes over an escape, or two that are one rune, and returns where it has ended.
func (w *jsonRewriter) escape(at int) int {
	const short, long = len(`\n`), len(`\u0000`)
	unit, is := w.unit(at)
	if !is {
		return at + short
	}
	if low, is := w.unit(at + long); is && utf16.DecodeRune(unit, low) != utf8.RuneError {
		return at + 2*long
	}
	if unit == 0 || utf16.IsSurrogate(unit) {
		w.replace(at, at+long, `\ufffd`)
	}
	return at + long
}

// unit reads an escape such as \u00e9, if that is what stands there.
func (w *jsonRewriter) unit(at int) (rune, bool) {
	if at+6 > len(w.raw) || w.raw[at] != '\\' || w.raw[at+1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(w.raw[at+2:at+6]), 16, 16)
	return rune(n), err == nil
}

// number passes over a number and returns where it has ended.
func (w *jsonRewriter) number(at int) int {
	end, exponent := at, -1
	for ; end < len(w.raw) && bytes.IndexByte([]byte("+-.0123456789eE"), w.raw[end]) >= 0; end++ {
		if w.raw[end]|0x20 == 'e' {
			exponent = end + 1
		}
	}
	large := end-at > maxDigits
	if exponent >= 0 {
		n, err := strconv.Atoi(string(w.raw[exponent:end]))
		large = large || err != nil || n > maxDigits || n < -maxDigits
	}
	if large {
		w.replace(at, end, `"`+string(w.raw[at:end])+`"`)
	}
	return end
}

const (
	// maxObject bounds the JSON of a variant, of a prompt, and of the intervals of a run, in bytes.
	maxObject = 1 << 20
	// maxSettings bounds the settings of a run in bytes. They include two prompts.
	maxSettings = 8 << 20
	// maxPath bounds paths, in bytes.
	maxPath = 4096
)

// rowCheck checks that a row can be kept. It remembers the first fault.
type rowCheck struct {
	what, id string
	err      error
}

func (c *rowCheck) errorf(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("%s %q: "+format, append([]any{c.what, shortened(c.id)}, args...)...)
	}
}

// key checks the text by which a row is found.
func (c *rowCheck) key(column, value string) {
	if value == "" {
		c.errorf("it has no %s: give it one, so that it can be found", column)
	}
	c.name(column, value)
}

// name checks a short text.
func (c *rowCheck) name(column, value string) { c.text(column, value, replay.MaxName) }

func (c *rowCheck) text(column, value string, most int) {
	if len(value) > most {
		c.errorf("its %s has %d bytes, and at most %d can be kept: shorten it", column, len(value), most)
	}
}

// object checks that raw is a JSON object or empty, and returns it as databases keep it.
func (c *rowCheck) object(column string, raw json.RawMessage) string {
	return c.objectUpTo(column, raw, maxObject)
}

func (c *rowCheck) objectUpTo(column string, raw json.RawMessage, most int) string {
	if len(raw) > most {
		c.errorf("its %s has %d bytes, and at most %d can be kept: shorten it", column, len(raw), most)
		return ""
	}
	text, ok := plainJSON(raw)
	if !ok || text != "" && text[0] != '{' {
		c.errorf("its %s is no JSON object: correct it", column)
	}
	return text
}

// shortened returns an id as errors quote it.
func shortened(id string) string {
	if len(id) > replay.MaxName {
		return strings.ToValidUTF8(id[:replay.MaxName], "") + "…"
	}
	return id
}
