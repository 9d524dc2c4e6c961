package value

import (
	"bytes"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What may be a number to call: figures in groups, with or without the sign of an international one. Narrowly, at most one character stands between two
// groups.
var (
	numbers = regexp.MustCompile(`\+?[0-9(][0-9 ().\x{00a0}\x{202f}/-]*[0-9]`)
	narrow  = regexp.MustCompile(`\+?(?:\([0-9]+\)|[0-9]+)(?:[ .\x{00a0}\x{202f}/-]?(?:\([0-9]+\)|[0-9]+))*`)
)

// The figures that numbers to call have.
const (
	minPhone = 7
	maxPhone = 15
)

// Phone returns the first number to call that the message gives: its figures, with a plus where it was said. Look for days before, as a day is none.
func (t *Text) Phone() (Found, bool) {
	for _, at := range numbers.FindAllIndex(t.rest, -1) {
		places := [][]int{at}
		if len(figures(t.rest[at[0]:at[1]])) > maxPhone { // perhaps two of them
			places = narrow.FindAllIndex(t.rest[at[0]:at[1]], -1)
			for _, p := range places {
				p[0], p[1] = p[0]+at[0], p[1]+at[0]
			}
		}
		for _, p := range places {
			digits := figures(t.rest[p[0]:p[1]])
			if len(digits) < minPhone || len(digits) > maxPhone || !t.alone(p[0], p[1]) {
				continue
			}
			if t.rest[p[0]] == '+' {
				digits = "+" + digits
			}
			t.take(p[0], p[1])
			return Found{digits, p[0], p[1]}, true
		}
	}
	return Found{}, false
}

// figures returns the digits of a text.
func figures(text []byte) string {
	return strings.Map(func(r rune) rune {
		if isDigit(r) {
			return r
		}
		return -1
	}, string(text))
}

// alone reports whether figures are not part of a word, an address or an amount.
func (t *Text) alone(from, to int) bool {
	before, _ := utf8.DecodeLastRune(t.rest[:from])
	behind, _ := utf8.DecodeRune(t.rest[to:])
	next, _ := utf8.DecodeRune(bytes.TrimLeft(t.rest[to:], " "))
	money := func(r rune) bool { return unicode.Is(unicode.Sc, r) || r == '%' }
	return !(from > 0 && (isLetter(before) || money(before) || strings.ContainsRune("_/#=&@,", before))) &&
		!(to < len(t.rest) && (isLetter(behind) || money(next) || strings.ContainsRune("_@", behind)))
}
