package redact

import (
	"encoding/hex"
	"html"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// match is the longest form found at a place.
type match struct{ end, mark, node int }

type matcher[T stringOrBytes] struct {
	*finder
	s    T
	best match
	open bool
}

// walk follows a text from a place, as it is written and as what its escapes mean.
func (m *matcher[T]) walk(i, at int) {
	n := &m.nodes[at]
	if n.mark > 0 && i > m.best.end {
		m.best = match{i, n.mark, at}
	}
	if len(n.edges) == 0 {
		m.open = m.open || n.after > 0 && i == len(m.s)
		return
	}
	if i == len(m.s) {
		m.open = true
		return
	}
	by := m.s[i]
	if to := m.step(at, by); to > 0 {
		m.walk(i+1, to)
	}
	switch by {
	case '%', '\\', '&', '+':
		meaning, length, whole := unescape(string(m.s[i:min(len(m.s), i+longestEscape)]))
		if !whole && i+longestEscape > len(m.s) {
			m.open = true
		}
		if length > 0 {
			m.walkAll(i+length, at, meaning)
		}
	}
}

// walkAll follows the bytes that an escape before i means.
func (m *matcher[T]) walkAll(i, at int, meaning string) {
	for _, by := range []byte(meaning) {
		if at = m.step(at, by); at == 0 {
			return
		}
	}
	m.walk(i, at)
}

// walkHex follows hex digits from a place.
func (m *matcher[T]) walkHex(i int) {
	for at := hexRoot; ; i++ {
		if n := &m.nodes[at]; n.mark > 0 && i > m.best.end {
			m.best = match{i, n.mark, at}
		}
		if i == len(m.s) {
			m.open = m.open || len(m.nodes[at].edges) > 0
			return
		}
		if at = m.step(at, m.s[i]); at == 0 {
			return
		}
	}
}

// longestEscape is the length of the longest escape that is looked at, two halves of a character in JSON.
const longestEscape = 12

// unescape returns what the escape means with which a text begins, and its length, 0 where there is none. whole is
// false when more text could make it one.
func unescape(s string) (meaning string, length int, whole bool) {
	switch s[0] {
	case '+':
		return " ", 1, true
	case '%':
		if len(s) < 3 {
			return "", 0, false
		}
		by, err := hex.DecodeString(s[1:3])
		if err != nil {
			return "", 0, true
		}
		return string(by), 3, true
	case '&':
		end := strings.IndexByte(s, ';')
		if end < 0 {
			return "", 0, false
		}
		if meaning = html.UnescapeString(s[:end+1]); strings.HasSuffix(meaning, ";") {
			return "", 0, true
		}
		return meaning, end + 1, true
	}
	return unescapeJSON(s)
}

// unescapeJSON is unescape for what begins with a backslash.
func unescapeJSON(s string) (meaning string, length int, whole bool) {
	if len(s) < 2 {
		return "", 0, false
	}
	if at := strings.IndexByte(escapes, s[1]); at >= 0 {
		return meant[at : at+1], 2, true
	}
	first, ok := codeUnit(s)
	if !ok {
		return "", 0, len(s) >= 6 || s[1] != 'u'
	}
	if !utf16.IsSurrogate(first) {
		return string(first), 6, true
	}
	second, ok := codeUnit(s[6:])
	if both := utf16.DecodeRune(first, second); ok && both != utf8.RuneError {
		return string(both), 12, true
	}
	return "", 0, len(s) >= 12
}

// codeUnit reads an escape of JSON: a backslash, u and four hexadecimal digits.
func codeUnit(s string) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	unit, err := hex.DecodeString(s[2:6])
	if err != nil {
		return 0, false
	}
	return rune(unit[0])<<8 | rune(unit[1]), true
}
