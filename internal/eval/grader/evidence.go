package grader

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/internal/base/text"
)

// maxQuoted is how many characters of a text evidence shows, maxListed how many texts of a list.
const (
	maxQuoted = 120
	maxListed = 5
)

// quote shows a text for evidence as it is, shortened, keeping its beginning.
func quote(s string) string {
	shown := cutRunes(s, maxQuoted)
	if len(shown) < len(s) {
		shown += "…"
	}
	return `"` + visible(shown) + `"`
}

// quoteEnd is quote, keeping the end.
func quoteEnd(s string) string {
	start := len(s)
	for n := 0; n < maxQuoted && start > 0; n++ {
		_, width := utf8.DecodeLastRuneInString(s[:start])
		start -= width
	}
	shown := s[start:]
	if start > 0 {
		shown = "…" + shown
	}
	return `"` + visible(shown) + `"`
}

// visible returns a text of one line in which a reader sees every character: white space other than a plain space,
// invisible and direction characters are shown by their code, such as \u00a0.
func visible(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == ' ' || !unseen(r):
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// unseen reports whether a character cannot be seen, or not be told from a plain space.
func unseen(r rune) bool {
	const blankBraille = '\u2800'
	return unicode.IsSpace(r) || text.Dangerous(r) || r == blankBraille ||
		unicode.In(r, unicode.Zs, unicode.Join_Control, unicode.Variation_Selector)
}

// quoteAll quotes the texts of a list, but only the first few of a long one.
func quoteAll(texts []string) string {
	quoted := make([]string, len(texts))
	for i, t := range texts {
		quoted[i] = quote(t)
	}
	return fewOf(quoted)
}

// runeStart returns the nearest offset at or before the given one at which a character begins; it stays within the
// text.
func runeStart(s string, offset int) int {
	if offset >= len(s) {
		return len(s)
	}
	for offset > 0 && !utf8.RuneStart(s[offset]) {
		offset--
	}
	return max(0, offset)
}

// cutRunes returns at most the given number of characters from the beginning of a text.
func cutRunes(s string, most int) string {
	for i := range s {
		if most--; most < 0 {
			return s[:i]
		}
	}
	return s
}

// decimal writes a score, rounded to four places.
func decimal(f float64) string { return amount(math.Round(f*1e4) / 1e4) }

// amount writes an amount with all its digits and no more.
func amount(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// counted writes a number of things.
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return strconv.Itoa(n) + " " + thing + "s"
}

// fewOf joins texts that are already short, but only the first few of many.
func fewOf(texts []string) string {
	list := strings.Join(texts[:min(len(texts), maxListed)], ", ")
	if rest := len(texts) - maxListed; rest > 0 {
		list += fmt.Sprintf(" and %d more", rest)
	}
	return list
}
