package value

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/nyaruka/phonenumbers/v2"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// Candidates for phone numbers: figures in groups, with or without the sign of an international number. In narrow ones
// at most one character separates two groups.
var (
	numbers = text.Regexp(`\+?[0-9(][0-9 ().\x{00a0}\x{202f}/-]*[0-9]`)
	narrow  = text.Regexp(`\+?(?:\([0-9]+\)|[0-9]+)(?:[ .\x{00a0}\x{202f}/-]?(?:\([0-9]+\)|[0-9]+))*`)
)

// The digits of a phone number.
const (
	minPhone = 7
	maxPhone = 15
)

// Phone returns the first phone number in the message that no negation cancels: its digits, with a plus sign if the
// visitor wrote one. Region is the country (ISO 3166) whose numbers need no country code; without one any such number
// with enough digits counts. Negated numbers before it are taken, too. Search for days first: a day in figures is not a
// number.
func (t *Text) Phone(region string) (Found, bool) {
	var all []Found
	var found []piece
	for _, at := range numbers().FindAllIndex(t.rest, -1) {
		places := [][]int{at}
		if len(figures(t.rest[at[0]:at[1]])) > maxPhone { // perhaps two numbers
			places = narrow().FindAllIndex(t.rest[at[0]:at[1]], -1)
			for _, p := range places {
				p[0], p[1] = p[0]+at[0], p[1]+at[0]
			}
		}
		for _, p := range places {
			digits := figures(t.rest[p[0]:p[1]])
			if t.rest[p[0]] == '+' {
				digits = "+" + digits
			}
			if possible(digits, region) && t.alone(p[0], p[1]) {
				all, found = append(all, Found{digits, p[0], p[1]}), append(found, piece{p[0], p[1]})
			}
		}
	}
	for i, negated := range t.negated(found, false) {
		t.Remove(found[i].from, found[i].to)
		if !negated {
			return all[i], true
		}
	}
	return Found{}, false
}

// possible reports whether a number with these digits can exist in a region, or anywhere if it has a country code.
func possible(digits, region string) bool {
	national := strings.TrimPrefix(digits, "+")
	switch {
	case len(national) < minPhone || len(national) > maxPhone:
		return false
	case national == digits && region == "":
		return true
	}
	n, err := phonenumbers.Parse(digits, region)
	return err == nil && phonenumbers.IsPossibleNumber(n)
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
