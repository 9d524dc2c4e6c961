package draw

import (
	"strings"
	"unicode"
)

const (
	maxQuoted = 80 // characters of an id in an error
	maxMarks  = 4  // marks on one character, so that none climbs out of its box
)

// clean returns s without what breaks XML or YAML, steers a display, reorders or hides text. Newlines become spaces; what is not
// UTF-8 becomes U+FFFD. The text itself stays, in any script.
func clean(s string) string {
	marks := 0
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			marks = 0
			return ' '
		case acts(r):
			return -1
		case !unicode.In(r, unicode.Mn, unicode.Me):
			marks = 0
		case marks == maxMarks:
			return -1
		default:
			marks++
		}
		return r
	}, s)
}

// acts reports whether a character does something other than show itself.
func acts(r rune) bool {
	switch {
	case r < 0x20, r >= 0x7f && r < 0xa0: // control
	case r >= 0x200e && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0x61c: // direction
	case r == 0xfeff || r >= 0xfff9 && r <= 0xfffb: // byte order mark, annotations
	case r&0xfffe == 0xfffe || r >= 0xfdd0 && r <= 0xfdef: // not characters
	case r >= 0xe0000 && r <= 0xe007f: // invisible tags
	default:
		return false
	}
	return true
}

// oneLine returns s clean and with its white space collapsed.
func oneLine(s string) string { return strings.Join(strings.Fields(clean(s)), " ") }

// clip returns the first n characters of s, with an ellipsis if that is not all.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := range s {
		if n == 0 {
			return strings.TrimRight(s[:i], " ") + "…"
		}
		n--
	}
	return s
}
