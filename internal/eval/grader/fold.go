package grader

import (
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// letterCase says whether upper and lower case are different letters.
type letterCase bool

const (
	caseCounts  letterCase = false
	caseIgnored letterCase = true
)

// of returns the text in the form in which it is compared: "é" is one letter (NFC) however it was typed. Ignoring case
// uses full Unicode case folding (The Unicode Standard 5.18), not lower case: "ß" equals "SS", "ς" equals "Σ", and "İ"
// equals "i̇". Letters are composed before and after, because folding can decompose them.
func (c letterCase) of(s string) string {
	if c == caseIgnored {
		// The folding table swaps the two cases of Cherokee; lower case makes them equal.
		return norm.NFC.String(strings.ToLower(cases.Fold().String(norm.NFC.String(s))))
	}
	return norm.NFC.String(s)
}

// note completes the sentence that says what a check wants.
func (c letterCase) note() string {
	if c == caseIgnored {
		return " in any case"
	}
	return ""
}
