package user

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// plain returns a text as it is compared: letters however they were typed and in any case, without invisible
// characters, with one kind of apostrophe and single spaces.
func plain(s string) string {
	s = norm.NFKC.String(cases.Fold().String(norm.NFKC.String(s)))
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '’' || r == 'ʼ' || r == '‘':
			return '\''
		case unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

// word is a word of a text. Weight is in quarters of a word.
type word struct {
	text   string
	weight int
}

// words returns the words of a text: runs of letters, marks and digits, and with symbols also each symbol. In scripts
// without spaces each letter is a token of its own, and weighs as much of a word as it usually is: a half in Chinese, a
// quarter elsewhere.
func words(s string, symbols bool) []word {
	var all []word
	var run strings.Builder
	end := func() {
		if run.Len() > 0 {
			all = append(all, word{run.String(), 4})
			run.Reset()
		}
	}
	for _, r := range plain(s) {
		weight := unspaced(r)
		switch {
		case weight > 0:
			end()
			all = append(all, word{string(r), weight})
		case unicode.IsMark(r) && run.Len() == 0 && len(all) > 0:
			all[len(all)-1].text += string(r)
		case unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r):
			run.WriteRune(r)
		case r == '\'': // don't is one word
		case symbols && unicode.IsSymbol(r):
			end()
			all = append(all, word{string(r), 4})
		default:
			end()
		}
	}
	end()
	return all
}

// unspaced returns how many quarters of a word a letter is in a script without spaces between words; 0 for other
// characters.
func unspaced(r rune) int {
	switch {
	case !unicode.IsLetter(r):
		return 0
	case unicode.Is(unicode.Han, r):
		return 2
	case unicode.In(r, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar):
		return 1
	}
	return 0
}

// longestRun returns the weight of the longest run of words that both texts have, in words, and the run.
func longestRun(a, b []word) (float64, []word) {
	best, bestEnd, bestLen := 0, 0, 0
	weights, lengths := make([]int, len(b)+1), make([]int, len(b)+1)
	for i := range a {
		for j, v := range slices.Backward(b) {
			if a[i].text != v.text {
				weights[j+1], lengths[j+1] = 0, 0
				continue
			}
			weights[j+1], lengths[j+1] = weights[j]+a[i].weight, lengths[j]+1
			if weights[j+1] > best {
				best, bestEnd, bestLen = weights[j+1], i+1, lengths[j+1]
			}
		}
	}
	return float64(best) / 4, a[bestEnd-bestLen : bestEnd]
}

// joined writes words with spaces between them.
func joined(all []word) string {
	texts := make([]string, len(all))
	for i, w := range all {
		texts[i] = w.text
	}
	return strings.Join(texts, " ")
}

// blank reports whether a text shows nothing: white space, control and invisible characters only.
func blank(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool {
		return !unicode.IsSpace(r) && !unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zs) && r != '\u2800' &&
			r != '\u3164' && r != '\u115f' && r != '\u1160' && r != '\uffa0'
	}) < 0
}
