package redact

import (
	"bytes"
	"encoding/json"
	"regexp"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// Private takes out of texts what is nobody's business beside secrets: e-mail addresses, phone numbers, and what the
// patterns of a configuration match. It is safe for concurrent use.
type Private struct {
	secrets  *Redactor
	patterns []*regexp.Regexp
}

// Private returns what masks the secrets of the redactor, addresses, numbers and patterns.
func (r *Redactor) Private(patterns ...*regexp.Regexp) *Private { return &Private{r, patterns} }

// The masks of what is no secret.
var (
	patternMask = []byte("[redacted PATTERN]")
	emailMask   = []byte("[redacted EMAIL]")
	phoneMask   = []byte("[redacted PHONE]")
)

// maxNested is how many JSON texts inside of each other are read.
const maxNested = 8

// Bytes returns data without all of that. Texts are found as they are written and, in strings of JSON anywhere in data,
// as what they mean.
func (p *Private) Bytes(data []byte) []byte {
	parts := bytes.Split(p.secrets.Bytes(data), between)
	for i := range parts {
		parts[i] = p.quoted(parts[i], 0)
	}
	return p.text(bytes.Join(parts, between))
}

// between stands between the head and the body of a message of HTTP. Each is read on its own: a lone quote in one is
// none in the other.
var between = []byte("\r\n\r\n")

// text masks what is written plainly.
func (p *Private) text(data []byte) []byte {
	for _, pattern := range p.patterns {
		data = replace(data, pattern, patternMask, notEmpty)
	}
	data = maskRuns(data, addressRun, func(run []byte) []byte { return replace(run, email(), emailMask, notEmpty) })
	return maskRuns(data, numberRun, func(run []byte) []byte {
		for _, shape := range phones {
			run = replace(run, shape(), phoneMask, isPhone)
		}
		return run
	})
}

// quoted masks the strings of JSON in data whose escapes hide what they mean. What is no JSON may look like such
// strings: then more is looked at, never less.
func (p *Private) quoted(data []byte, depth int) []byte {
	if depth == maxNested || bytes.IndexByte(data, '\\') < 0 {
		return data
	}
	var out []byte
	kept := 0
	for at := 0; ; {
		open := bytes.IndexByte(data[at:], '"')
		if open < 0 {
			break
		}
		open += at
		end, escaped := stringEnd(data, open)
		if end < 0 {
			break
		}
		at = end
		if !escaped {
			continue
		}
		meant := decode(nil, data[open+1:end-1])
		masked := p.text(p.quoted(p.secrets.Bytes(meant), depth+1))
		if bytes.Equal(masked, meant) {
			continue
		}
		out = append(append(out, data[kept:open]...), quote(masked)...)
		kept = end
	}
	if kept == 0 {
		return data
	}
	return append(out, data[kept:]...)
}

// quote writes a text as a string of JSON.
func quote(text []byte) []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(string(text)) // a string can always be written
	return bytes.TrimRight(out.Bytes(), "\n")
}

// replace puts a mask in place of each match of a pattern that is one.
func replace(data []byte, pattern *regexp.Regexp, mask []byte, is func(data []byte, from, to int) bool) []byte {
	var out []byte
	kept := 0
	for _, span := range pattern.FindAllIndex(data, -1) {
		if is(data, span[0], span[1]) {
			out = append(append(out, data[kept:span[0]]...), mask...)
			kept = span[1]
		}
	}
	if kept == 0 {
		return data
	}
	return append(out, data[kept:]...)
}

func notEmpty(_ []byte, from, to int) bool { return to > from }

// maskRuns masks the runs of data that next finds from a place on, each with up to two bytes beside it, which stay. The
// rest of data is not looked at: expressions are slow, and few texts have anything in them.
func maskRuns(data []byte, next func(data []byte, at int) (from, to int), mask func(run []byte) []byte) []byte {
	var out []byte
	kept := 0
	for from, to := next(data, 0); from < to; from, to = next(data, to) {
		first, last := max(0, from-2), min(len(data), to+2)
		run := data[first:last]
		masked := mask(run)
		if len(masked) == len(run) && bytes.Equal(masked, run) {
			continue
		}
		out = append(append(out, data[kept:from]...), masked[from-first:len(masked)-(last-to)]...)
		kept = to
	}
	if kept == 0 {
		return data
	}
	return append(out, data[kept:]...)
}

// ats are the sign of an address as texts, addresses of the web, JSON and HTML write it.
var ats = [][]byte{[]byte("@"), []byte("%40"), []byte(`\u0040`), []byte("&#64;"), []byte("&#x40;"), []byte("&commat;")}

// longestAddress bounds each side of an address, in bytes.
const longestAddress = 320

// addressRun returns the next part of data that may hold e-mail addresses.
func addressRun(data []byte, at int) (from, to int) {
	sign := at
	for ; sign < len(data); sign++ {
		if isAt(data[sign:]) {
			break
		}
	}
	if sign == len(data) {
		return 0, 0
	}
	from, to = sign, sign
	for from > at && sign-from < longestAddress && data[from-1] > ' ' {
		from--
	}
	for to < len(data) && to-sign < longestAddress && data[to] > ' ' {
		if to++; isAt(data[to-1:]) {
			sign = to - 1
		}
	}
	return from, to
}

func isAt(data []byte) bool {
	switch data[0] {
	case '@':
		return true
	case '%', '\\', '&':
		for _, written := range ats {
			if len(data) >= len(written) && bytes.EqualFold(data[:len(written)], written) {
				return true
			}
		}
	}
	return false
}

// email matches e-mail addresses, also those with letters of any alphabet.
var email = text.Regexp(`(?i)[\p{L}\p{N}][\p{L}\p{N}.!%'*+_~-]*(?:@|%40|\\u0040|&#64;|&#x40;|&commat;)` +
	`(?:[\p{L}\p{N}](?:[\p{L}\p{N}-]*[\p{L}\p{N}])?\.)+(?:xn--[a-z0-9-]+|\p{L}{2,})`)

// leastDigits is how many digits a phone number has at least.
const leastDigits = 7

// numberRun returns the next part of data that may hold phone numbers: bytes of which they are written, escapes
// included, with enough digits.
func numberRun(data []byte, at int) (from, to int) {
	digits := 0
	for from = at; at < len(data); at++ {
		switch by := data[at]; {
		case by >= '0' && by <= '9':
			digits++
		case !inNumbers[by]:
			if digits >= leastDigits {
				return from, at
			}
			from, digits = at+1, 0
		}
	}
	if digits >= leastDigits {
		return from, at
	}
	return 0, 0
}

// inNumbers are the bytes beside digits of which phone numbers are written: see gap.
var inNumbers = func() (is [256]bool) {
	for _, by := range []byte(" ().+/-%\\uabBfF\u00a0\u2010\u2011\u2012\u2013") {
		is[by] = true
	}
	return is
}()

// gap is what may stand between the digits of a number.
const gap = `(?:[ \x{a0}.()/+\x{2010}\x{2011}\x{2013}-]|%20|%28|%29|%2F|\\u00a0){0,3}`

// phones match what may be phone numbers, as people and forms write them: with a country (+49 …, 0049 …), with a
// leading 0 (0170 …), and those of North America, also without an area.
var phones = []func() *regexp.Regexp{
	text.Regexp(`(?i)(?:\+|%2B|\\u002b)` + gap + `[1-9](?:` + gap + `\d){6,14}`),
	text.Regexp(`\b00` + gap + `[1-9](?:` + gap + `\d){7,14}\b`),
	text.Regexp(`(?:\(0\d{1,5}\)|\b0)[1-9]?(?:` + gap + `\d){6,13}\b`),
	text.Regexp(`(?:\b1[ .-]?)?(?:\([2-9]\d{2}\) ?|\b[2-9]\d{2}[ .-]?)[2-9]\d{2}[ .-]?\d{4}\b`),
	text.Regexp(`\b[2-9]\d{2}-\d{4}\b`),
	text.Regexp(`\b[6-9](?:\d{4}[ -]\d{5}|\d{2}[ -]\d{3}[ -]\d{3})\b`),
}

// other matches what looks like a number with a leading 0 and is a fraction, perhaps of a time with its zone, or a day.
var other = text.Regexp(
	`^(?:0?\d\.\d{3,}(?:[+-]\d{2})?|\d{1,2}[./-]\d{1,2}[./-](?:\d{2}|\d{4})|\d{4}[./-]\d{1,2}[./-]\d{1,2})$`)

// isPhone reports whether what looks like a number stands alone: not within a word, an identifier or a number with a
// fraction, nor a day.
func isPhone(data []byte, from, to int) bool {
	switch before, after := data[:from], data[to:]; {
	case from > 0 && isWord(before[from-1]), len(after) > 0 && isWord(after[0]):
		return false
	case from > 1 && (before[from-1] == '-' || before[from-1] == '.') && isWord(before[from-2]):
		return false
	case len(after) > 1 && after[0] == '-' && isWord(after[1]):
		return false
	}
	return !other().Match(data[from:to])
}

func isWord(by byte) bool {
	return by >= '0' && by <= '9' || by >= 'a' && by <= 'z' || by >= 'A' && by <= 'Z' || by == '_'
}
