package runlog

import (
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// cursor reads one line of JSON in the form in which this program writes it: without blanks, and with the fields of an
// object in their order. What it reads is what encoding/json would read. Anything else in the line makes it lost;
// encoding/json then reads the line, or reports what is wrong with it.
type cursor struct {
	line []byte
	at   int
	lost bool
	// shared has one copy of each text that records have in common.
	shared map[string]string
}

// maxShared bounds how many texts a cursor shares, maxSharedBytes how long one is, maxDepth how deep a value that is
// passed over may be nested.
const (
	maxShared      = 10_000
	maxSharedBytes = 500
	maxDepth       = 200
)

func (c *cursor) lose() { c.lost = true }

// has passes over a piece if it is next.
func (c *cursor) has(piece string) bool {
	if c.lost || len(c.line)-c.at < len(piece) || string(c.line[c.at:c.at+len(piece)]) != piece {
		return false
	}
	c.at += len(piece)
	return true
}

func (c *cursor) must(piece string) {
	if !c.has(piece) {
		c.lose()
	}
}

// key passes over the name of a field if it is that of the next one.
func (c *cursor) key(name string) bool {
	from := c.at
	if c.lost || from == 0 {
		return false
	}
	if c.line[from-1] != '{' { // no value ends so
		if from == len(c.line) || c.line[from] != ',' {
			return false
		}
		from++
	}
	end := from + len(name) + 3
	if end > len(c.line) || c.line[from] != '"' || c.line[end-2] != '"' || c.line[end-1] != ':' ||
		string(c.line[from+1:end-2]) != name {
		return false
	}
	c.at = end
	return true
}

// list calls each before every element of a list; null has none.
func (c *cursor) list(each func()) {
	if c.has("null") {
		return
	}
	c.must("[")
	if c.has("]") {
		return
	}
	for !c.lost {
		if each(); c.has(",") {
			continue
		}
		c.must("]")
		return
	}
}

// quoted is a string as the line has it, between its quotation marks.
type quoted struct {
	raw []byte
	// plain is true where the string is its bytes, simple where it is those and escapes of two characters.
	plain, simple bool
}

// inString is false for what ends a run of characters in a string: a quotation mark, an escape, and what must not be
// there.
var inString = func() (table [256]bool) {
	for c := range table {
		table[c] = c >= ' ' && c != '"' && c != '\\'
	}
	return table
}()

// quoted passes over a string.
func (c *cursor) quoted() quoted {
	c.must(`"`)
	q := quoted{plain: true, simple: true}
	if c.lost {
		return q
	}
	line, at := c.line, c.at
	high := byte(0)
	for at < len(line) {
		b := line[at]
		if inString[b] {
			high |= b
			at++
			continue
		}
		if b == '"' {
			q.raw = line[c.at:at]
			c.at = at + 1
			if high >= utf8.RuneSelf && !utf8.Valid(q.raw) {
				q.plain, q.simple = false, false
			}
			return q
		}
		if b != '\\' || at+1 == len(line) {
			break
		}
		q.plain = false
		if escaped[line[at+1]] != 0 {
			at += 2
			continue
		}
		if q.simple = false; line[at+1] != 'u' || at+6 > len(line) || !isHex(line[at+2:at+6]) {
			break
		}
		at += 6
	}
	c.lose()
	return q
}

// escaped has what the second character of an escape stands for.
var escaped = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

func isHex(digits []byte) bool {
	for _, d := range digits {
		if (d < '0' || d > '9') && (d < 'a' || d > 'f') && (d < 'A' || d > 'F') {
			return false
		}
	}
	return true
}

// text returns the value of a string.
func (q quoted) text() (said string) {
	if q.plain {
		return string(q.raw)
	}
	if q.simple {
		text := make([]byte, 0, len(q.raw))
		for at := 0; at < len(q.raw); at++ {
			b := q.raw[at]
			if b == '\\' {
				at++
				b = escaped[q.raw[at]]
			}
			text = append(text, b)
		}
		return string(text)
	}
	whole := make([]byte, 0, len(q.raw)+2)
	whole = append(append(append(whole, '"'), q.raw...), '"')
	_ = json.Unmarshal(whole, &said) // it was read as a string before
	return said
}

// word is text for what many records have in common.
func (c *cursor) word() string {
	q := c.quoted()
	if kept, ok := c.shared[string(q.raw)]; ok && q.plain {
		return kept
	}
	said := q.text()
	if q.plain && len(q.raw) <= maxSharedBytes && len(c.shared) < maxShared {
		c.shared[said] = said
	}
	return said
}

// digits passes over a number, and reports whether it is an integer.
func (c *cursor) digits() (number []byte, integer bool) {
	from := c.at
	c.has("-")
	if !c.has("0") {
		c.someDigits()
	}
	integer = true
	if c.has(".") {
		integer = false
		c.someDigits()
	}
	if c.has("e") || c.has("E") {
		integer = false
		if !c.has("+") {
			c.has("-")
		}
		c.someDigits()
	}
	return c.line[from:c.at], integer
}

func (c *cursor) someDigits() {
	from := c.at
	for c.at < len(c.line) && c.line[c.at] >= '0' && c.line[c.at] <= '9' {
		c.at++
	}
	if c.at == from {
		c.lose()
	}
}

func (c *cursor) number() float64 {
	digits, integer := c.digits()
	if integer && len(digits) == 1 {
		return float64(digits[0] - '0')
	}
	x, err := strconv.ParseFloat(string(digits), 64)
	if err != nil {
		c.lose()
	}
	return x
}

func (c *cursor) integer() int {
	digits, integer := c.digits()
	n, err := strconv.Atoi(string(digits))
	if err != nil || !integer {
		c.lose()
	}
	return n
}

func (c *cursor) truth() bool {
	if c.has("true") {
		return true
	}
	c.must("false")
	return false
}

// any passes over a value of any kind and returns its bytes in the line.
func (c *cursor) any() []byte {
	from := c.at
	c.value(maxDepth)
	return c.line[from:c.at]
}

func (c *cursor) value(depth int) {
	if c.lost || c.at == len(c.line) || depth == 0 {
		c.lose()
		return
	}
	switch c.line[c.at] {
	case '"':
		c.quoted()
	case '[':
		c.list(func() { c.value(depth - 1) })
	case '{':
		c.must("{")
		if c.has("}") {
			return
		}
		for !c.lost {
			c.quoted()
			c.must(":")
			if c.value(depth - 1); c.has(",") {
				continue
			}
			c.must("}")
			return
		}
	case 't', 'f':
		c.truth()
	case 'n':
		c.must("null")
	default:
		c.digits()
	}
}

// as reads a value that is seldom there into what v points to.
func (c *cursor) as(v any) {
	if raw := c.any(); !c.lost && json.Unmarshal(raw, v) != nil {
		c.lose()
	}
}
