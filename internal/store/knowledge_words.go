package store

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	// maxQueryWords bounds what one search looks for.
	maxQueryWords = 64
	// maxQueryText bounds what of a query is read for words, in bytes.
	maxQueryText = 16 << 10
	// maxWord is where longer words are cut, alike in queries and passages: hashes, encoded data.
	maxWord = 64
)

// spread returns the words of a text with blanks between them, in the form that the index takes.
// Of a script that is written without blanks, each character is a word: SQLite would take a whole sentence for one.
func spread(text string) string {
	var b strings.Builder
	b.Grow(len(text) + len(text)/8)
	length, dense := 0, false
	for _, r := range text {
		mark := unicode.IsMark(r)
		if !mark && !unicode.IsLetter(r) && !unicode.IsNumber(r) {
			length, dense = 0, false
			b.WriteByte(' ')
			continue
		}
		now := dense
		if !mark {
			now = unspaced(r)
		}
		if now && !mark || now != dense || length == maxWord {
			length = 0
			b.WriteByte(' ')
		}
		b.WriteRune(r)
		length, dense = length+1, now
	}
	return b.String()
}

// unspaced reports whether a character belongs to a script that puts no blanks between words.
func unspaced(r rune) bool {
	const firstThai, kanaLength = 0x0e00, 'ー'
	return r >= firstThai && (r == kanaLength ||
		unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar))
}

// queryWords returns the different words of a text, the first of them if there are too many.
// Of a script without blanks, a word is two neighbouring characters: one says too little, a whole clause hardly occurs again.
func queryWords(text string) []string {
	text = text[:min(len(text), maxQueryText)]
	var words []string
	seen := map[string]bool{}
	fields := strings.Fields(spread(strings.ToValidUTF8(text, " ")))
	for i, word := range fields {
		if startsUnspaced(word) {
			switch {
			case i+1 < len(fields) && startsUnspaced(fields[i+1]):
				word += " " + fields[i+1]
			case i > 0 && startsUnspaced(fields[i-1]):
				continue // it was the second of a pair
			}
		}
		if key := fold(word); !seen[key] {
			seen[key] = true
			words = append(words, word)
		}
		if len(words) == maxQueryWords {
			break
		}
	}
	return words
}

func startsUnspaced(word string) bool {
	r, _ := utf8.DecodeRuneInString(word)
	return unspaced(r)
}

// matchAny returns the FTS5 expression that finds every passage with one of the words.
// Words hold letters, digits, marks and blanks only; in quotes none of them is an operator.
func matchAny(words []string) string {
	return `"` + strings.Join(words, `" OR "`) + `"`
}

// fold returns a word as the index has it: in lower case and without diacritics.
func fold(word string) string {
	return strings.Map(func(r rune) rune {
		const firstDiacritic, lastDiacritic = 0x0300, 0x036f
		if r >= firstDiacritic && r <= lastDiacritic {
			return -1
		}
		return r
	}, norm.NFD.String(strings.ToLower(word)))
}
