package grader

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxQuoted is how many characters of a text evidence shows, maxListed how many texts of a list.
const (
	maxQuoted = 120
	maxListed = 5
)

// quote shortens a text for evidence, keeping its beginning.
func quote(s string) string {
	// White space is folded below, so the result may need much more of the text than it shows, but never all of a huge reply.
	start := s[:runeStart(s, 20*maxQuoted)]
	shown := []rune(strings.Join(strings.Fields(start), " "))
	if len(shown) > maxQuoted || len(start) < len(s) {
		return fmt.Sprintf("%q", string(shown[:min(len(shown), maxQuoted)])+"…")
	}
	return fmt.Sprintf("%q", string(shown))
}

// quoteEnd shortens a text for evidence, keeping its end.
func quoteEnd(s string) string {
	end := s[runeStart(s, len(s)-20*maxQuoted):]
	shown := []rune(strings.Join(strings.Fields(end), " "))
	if len(shown) > maxQuoted || len(end) < len(s) {
		return fmt.Sprintf("%q", "…"+string(shown[max(0, len(shown)-maxQuoted):]))
	}
	return fmt.Sprintf("%q", string(shown))
}

// quoteAll quotes the texts of a list, but only the first few of a long one.
func quoteAll(texts []string) string {
	quoted := make([]string, len(texts))
	for i, t := range texts {
		quoted[i] = quote(t)
	}
	return fewOf(quoted)
}

// runeStart returns the nearest offset at or before the given one at which a character begins; it stays within the text.
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
