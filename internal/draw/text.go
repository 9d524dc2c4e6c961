package draw

import (
	"strings"
	"unicode"

	"rehearse/internal/text"
)

const (
	maxQuoted = 80 // characters of an ID in an error
	maxMarks  = 4  // combining marks on one character, so that none leaves its box
)

// oneLine returns s as one line of a picture. It removes what breaks XML or YAML, steers a display, reorders or hides text, and marks that
// pile up. Everything else stays, in any script.
func oneLine(s string) string {
	marks := 0
	return strings.Map(func(r rune) rune {
		switch {
		case !unicode.In(r, unicode.Mn, unicode.Me):
			marks = 0
		case marks == maxMarks:
			return -1
		default:
			marks++
		}
		return r
	}, text.Stripped(s))
}
