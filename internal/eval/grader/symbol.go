package grader

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Characters that join others to one emoji (Unicode Technical Standard 51, 1.4).
const (
	joiner          = '\u200d'
	asText          = '\ufe0e'
	asEmoji         = '\ufe0f'
	keycap          = '\u20e3'
	firstSkinTone   = '\U0001f3fb'
	lastSkinTone    = '\U0001f3ff'
	firstFlagLetter = '\U0001f1e6'
	lastFlagLetter  = '\U0001f1ff'
	firstTag        = '\U000e0020'
	lastTag         = '\U000e007f'
)

// symbolAt returns the length in bytes of the symbol that a text begins with, 0 when it begins with none. An emoji is
// one symbol with all that is joined to it: its presentation, skin tone, keycap and further emoji; so is a flag.
func symbolAt(s string) int {
	r, n := utf8.DecodeRuneInString(s)
	next, width := utf8.DecodeRuneInString(s[n:])
	switch {
	case !isSymbol(r) && !isPictured(r, s[n:]):
		return 0
	case flagLetter(r) && flagLetter(next):
		n += width
	}
	for n < len(s) {
		next, width = utf8.DecodeRuneInString(s[n:])
		after, afterWidth := utf8.DecodeRuneInString(s[n+width:])
		switch {
		case next == joiner && isSymbol(after):
			n += width + afterWidth
		case unicode.IsMark(next), next >= firstSkinTone && next <= lastSkinTone, next >= firstTag && next <= lastTag:
			n += width
		default:
			return n
		}
	}
	return n
}

// isSymbol reports whether a character is a symbol by itself. The range of emoji counts as a whole, since Unicode adds
// some every year.
func isSymbol(r rune) bool { return r == '%' || unicode.IsSymbol(r) || r >= 0x1f000 && r <= 0x1fbff }

// isPictured reports whether a character that is neither a symbol nor a letter becomes one by what follows, as # does
// in #️⃣.
func isPictured(r rune, rest string) bool {
	if unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsSpace(r) {
		return false
	}
	next, _ := utf8.DecodeRuneInString(rest)
	return next == keycap || next == asEmoji
}

func flagLetter(r rune) bool { return r >= firstFlagLetter && r <= lastFlagLetter }

// plainSymbol leaves out whether a symbol is drawn in colour: ❤ and ❤️ are the same word.
func plainSymbol(s string) string {
	return strings.Map(func(r rune) rune {
		if r == asText || r == asEmoji {
			return -1
		}
		return r
	}, s)
}
