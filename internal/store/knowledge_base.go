package store

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"rehearse/internal/source"
)

const maxBaseName = 100

// KnowledgeBase describes one base.
type KnowledgeBase struct {
	Name     string `json:"kb"`
	Files    int    `json:"files"`
	Passages int    `json:"passages"`
}

// UnknownBaseError is what Search and Remove return for a name that no knowledge base has.
type UnknownBaseError struct {
	Name  string
	Known []string
	// Hint says how a base is made.
	Hint string
}

// Error names the bases that there are and the one that was meant, perhaps.
func (e *UnknownBaseError) Error() string {
	s := fmt.Sprintf("there is no knowledge base called %q: ", firstRunes(e.Name, maxBaseName))
	if len(e.Known) == 0 {
		return s + "there are none yet; " + e.Hint
	}
	const most = 20
	suggestion := source.Suggest(e.Name, e.Known[:min(most, len(e.Known))])
	if near, ok := source.Nearest(e.Name, e.Known); ok {
		suggestion = fmt.Sprintf("did you mean %q? known: %s", near, strings.Join(e.Known[:min(most, len(e.Known))], ", "))
	}
	if more := len(e.Known) - most; more > 0 {
		suggestion += fmt.Sprintf(" and %d more", more)
	}
	return s + suggestion
}

// wrongName says what is wrong with the name of a base: it has to be written on a command line and read in a list.
func wrongName(name string) string {
	switch {
	case strings.TrimSpace(name) == "":
		return "the knowledge base has no name"
	case !utf8.ValidString(name), strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return fmt.Sprintf("%q cannot be the name of a knowledge base: it has characters that cannot be seen", firstRunes(name, maxBaseName))
	case utf8.RuneCountInString(name) > maxBaseName:
		return fmt.Sprintf("the name of a knowledge base has more than %d characters", maxBaseName)
	}
	return ""
}

// firstRunes returns the first n characters of s, with a mark when there are more.
func firstRunes(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i] + "…"
		}
		n--
	}
	return s
}
