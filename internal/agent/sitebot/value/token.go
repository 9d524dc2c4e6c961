package value

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// token is a word, a number in figures or a single other character of a message.
type token struct {
	kind tokenKind
	// text is a word as fold returns it, the figures, or the character.
	text     string
	from, to int
	// gap is true where white space stands before the token.
	gap bool
	// upper is true for a word that begins with a capital letter and goes on with small ones.
	upper bool
}

type tokenKind int

const (
	word tokenKind = iota
	number
	mark
)

// tokens cuts a text. An apostrophe or a hyphen between two letters parts words and is no token: "après-demain" and "après demain" are the same.
func tokens(text []byte) []token {
	var all []token
	gap := true
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		t := token{kind: mark, from: i, to: i + size, gap: gap}
		switch {
		case unicode.IsSpace(r):
			gap, i = true, i+size
			continue
		case isDigit(r):
			t.kind, t.to = number, i+runOf(text[i:], isDigit)
		case isLetter(r):
			t.kind, t.to = word, i+runOf(text[i:], isLetter)
		case joins(r) && len(all) > 0 && !gap && all[len(all)-1].kind == word && letterAt(text[i+size:]):
			i += size
			continue
		}
		t.text = string(text[t.from:t.to])
		if t.kind == word {
			t.upper = unicode.IsUpper(r) && strings.ContainsFunc(t.text, unicode.IsLower)
			t.text = fold(t.text)
		}
		all = append(all, t)
		gap, i = false, t.to
	}
	return all
}

func isDigit(r rune) bool  { return '0' <= r && r <= '9' }
func isLetter(r rune) bool { return unicode.IsLetter(r) || unicode.IsMark(r) }
func joins(r rune) bool    { return strings.ContainsRune("'’ʼ‘`-‐‑", r) }

func letterAt(text []byte) bool {
	r, _ := utf8.DecodeRune(text)
	return isLetter(r)
}

// runOf returns how many bytes at the beginning of a text are of one sort.
func runOf(text []byte, of func(rune) bool) int {
	n := 0
	for n < len(text) {
		r, size := utf8.DecodeRune(text[n:])
		if !of(r) {
			break
		}
		n += size
	}
	return n
}

// fold returns a word as words are compared: in lower case, without the marks above and below letters.
func fold(text string) string {
	plain := true
	for i := range len(text) {
		plain = plain && text[i] < utf8.RuneSelf
	}
	text = strings.ToLower(text)
	if plain {
		return text
	}
	var b strings.Builder
	for _, r := range norm.NFD.String(text) {
		switch {
		case r == 'ß':
			b.WriteString("ss")
		case r == 'œ':
			b.WriteString("oe")
		case !unicode.Is(unicode.Mn, r):
			b.WriteRune(r)
		}
	}
	return b.String()
}
