// Package text writes one line of anything for people: names, numbers, durations, tables. Text from outside (replies,
// suites, errors of others) goes through it on its way to a terminal, a page, Markdown or a picture, so that it is
// shown and does nothing else.
package text

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Dangerous reports whether a character does something other than show itself: it steers a terminal, reorders, hides or
// breaks lines of text, cannot be seen, or is not allowed in XML. A newline and a tab are not, nor are the joiners of
// scripts and emoji. Terminal, HTML, Markdown, XML and pictures share this one set.
func Dangerous(r rune) bool {
	switch {
	case r >= ' ' && r < 0x7f, r == '\n', r == '\t', r == utf8.RuneError:
		return false
	case unicode.Is(unicode.Join_Control, r): // Persian and the families of emoji need them
		return false
	case unicode.Is(unicode.Prepended_Concatenation_Mark, r):
		// Arabic signs that can be seen, although their class is Cf
		return false
	case r >= 0xe0000 && r <= 0xe0fff: // tags and variation selectors, in which whole texts can be hidden
		return true
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp,
		unicode.Other_Default_Ignorable_Code_Point, unicode.Noncharacter_Code_Point)
}

// Visible returns s with every dangerous character shown as an escape such as \x1b or \u202e. Newlines, tabs and the
// text itself, of any script, stay; a carriage return before a newline goes; what is not UTF-8 becomes U+FFFD.
func Visible(s string) string {
	if strings.IndexFunc(s, Dangerous) < 0 && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	for i, r := range s {
		switch {
		case !Dangerous(r):
			b.WriteRune(r)
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

// Stripped returns s as one line without dangerous characters, for places where an escape would be noise: names in
// pictures, ids. White space of every kind becomes a blank; what is not UTF-8 becomes U+FFFD.
func Stripped(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case Dangerous(r):
			return -1
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}
