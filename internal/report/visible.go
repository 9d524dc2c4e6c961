package report

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// visible returns s with every character that could steer a terminal, reorder or hide text, or break XML shown as an escape
// such as \x1b or \u202e. Newlines, tabs and the text itself, of any script, stay.
// Model text reaches a report only through it.
func visible(s string) string {
	if strings.IndexFunc(s, acts) < 0 && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	for i, r := range s {
		switch {
		case !acts(r):
			b.WriteRune(r) // what is not UTF-8 arrives as U+FFFD
		case r == '\r' && strings.HasPrefix(s[i:], "\r\n"):
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	return b.String()
}

// acts reports whether a character does something other than show itself.
func acts(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < 0x20, r >= 0x7f && r < 0xa0: // control
	case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069: // direction
	case r == 0x2028 || r == 0x2029 || r == 0xfeff: // line breaks that are none, byte order mark
	case r == 0xfffe || r == 0xffff: // not characters, and not allowed in XML
	case r >= 0xe0000 && r <= 0xe007f: // invisible tags
	default:
		return false
	}
	return true
}

// oneLine returns s visible and with white space collapsed, cut to at most n characters.
func oneLine(s string, n int) string {
	// Cut first: a reply of megabytes is not worth reading to the end for one line.
	s, _ = cut(s, 8*n)
	s, left := cut(strings.Join(strings.Fields(visible(s)), " "), n)
	if left > 0 {
		s += "…"
	}
	return s
}

// passage returns the beginning of s, visible, and says how much is left out.
func passage(s string, n int) string {
	head, left := cut(s, n)
	if left > 0 {
		return visible(head) + "… (" + many(left, "more character") + ")"
	}
	return visible(head)
}

// cut returns the first n characters of s and how many are left out.
func cut(s string, n int) (head string, left int) {
	if len(s) <= n {
		return s, 0
	}
	at := 0
	for range n {
		_, size := utf8.DecodeRuneInString(s[at:])
		at += size
		if at == len(s) {
			return s, 0
		}
	}
	return s[:at], utf8.RuneCountInString(s[at:])
}
