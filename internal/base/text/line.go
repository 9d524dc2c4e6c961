package text

import (
	"strings"
	"unicode/utf8"
)

// OneLine returns s visible and with white space collapsed, cut to at most n characters and an ellipsis.
func OneLine(s string, n int) string {
	// Cut first: a reply of megabytes is not worth reading to the end for one line.
	s, _ = Cut(s, 8*n)
	s, left := Cut(strings.Join(strings.Fields(Visible(s)), " "), n)
	if left > 0 {
		s += "…"
	}
	return s
}

// Clip returns s, or its first n characters and an ellipsis. It does not make s visible.
func Clip(s string, n int) string {
	head, left := Cut(s, n)
	if left == 0 {
		return s
	}
	return strings.TrimRight(head, " ") + "…"
}

// Beginning returns the first n characters of s, visible, and says how much is left out.
func Beginning(s string, n int) string {
	head, left := Cut(s, n)
	if left > 0 {
		return Visible(head) + "… (" + Plural(left, "more character") + ")"
	}
	return Visible(head)
}

// Cut returns the first n characters of s and how many are left out.
func Cut(s string, n int) (head string, left int) {
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

// Capital returns s with a capital first letter.
func Capital(s string) string {
	_, size := utf8.DecodeRuneInString(s)
	return strings.ToUpper(s[:size]) + s[size:]
}
