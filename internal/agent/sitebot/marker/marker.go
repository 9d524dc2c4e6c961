// Package marker implements the emoji protocol of the site chatbot: the model marks its answers, and rules act on the
// marks without asking a model again. The chatbot, the reconstruction of a state from a history and the graders share
// it.
package marker

import (
	"strings"
	"unicode/utf8"
)

// The markers. A skin tone or a variation selector after one makes no difference.
const (
	Question = "👉" // U+1F449: a qualification question
	Demo     = "👇" // U+1F447: a proposal of a demo
	Email    = "💌" // U+1F48C: a request for an e-mail address
)

// All returns the markers in the order in which they are shown.
func All() []string { return []string{Question, Demo, Email} }

// Marks says which markers a text holds.
type Marks struct {
	// Questions counts the qualification questions.
	Questions   int
	Demo, Email bool
}

// Of returns the markers of a text.
func Of(text string) Marks {
	return Marks{
		Questions: strings.Count(text, Question), Demo: strings.Contains(text, Demo),
		Email: strings.Contains(text, Email),
	}
}

// Strip removes the markers for display, each with its skin tone or variation selector and one space.
func Strip(text string) string {
	for _, m := range All() {
		if strings.Contains(text, m) {
			text = strip(text, m)
		}
	}
	return text
}

func strip(text, marker string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, marker)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		text = strings.TrimPrefix(trimModifier(after), " ")
	}
}

// trimModifier removes one skin tone (U+1F3FB to U+1F3FF) or the variation selector U+FE0F.
func trimModifier(text string) string {
	r, size := utf8.DecodeRuneInString(text)
	if IsModifier(r) {
		return text[size:]
	}
	return text
}

// IsModifier reports whether a character may belong to a marker before it: a skin tone or the variation selector.
func IsModifier(r rune) bool { return r >= 0x1F3FB && r <= 0x1F3FF || r == 0xFE0F }
