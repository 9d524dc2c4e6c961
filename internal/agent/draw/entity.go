package draw

import (
	"fmt"
	"strings"
)

// breaker is a zero-width space as an entity. It breaks up what Mermaid would take for mathematics ($$) or an icon
// (fa:fa-x). Entities alone do not prevent that, because Mermaid reads labels with a line break twice.
const breaker = "#8203;"

// entities returns one line of text for a quoted label of Mermaid. Letters, digits, spaces and harmless punctuation
// stay. Everything else becomes an entity, because Mermaid finds quotes, tags, directives (%%{) and Markdown in labels.
// So does a dot, a dash or a bracket that could begin a list.
func entities(s string) string {
	var b strings.Builder
	list := true // true while only characters that may precede a list marker were seen
	for i, r := range s {
		switch {
		case r == ':' && strings.HasPrefix(s[i+1:], " "), !list && strings.ContainsRune(".-)", r), harmless(r):
			b.WriteRune(r)
		default:
			b.WriteString(entity(r))
		}
		list = list && (r == ' ' || r >= '0' && r <= '9')
	}
	return b.String()
}

// harmless reports whether a character means nothing to Mermaid wherever it stands.
func harmless(r rune) bool {
	return r >= 0x80 || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
		strings.ContainsRune(" ,?!'(/", r)
}

func entity(r rune) string {
	switch r {
	case '"':
		return "#quot;"
	case '<':
		return "#lt;"
	case '>':
		return "#gt;"
	case '&':
		return "#amp;"
	case ':', '$':
		return fmt.Sprintf("#%d;", r) + breaker
	}
	return fmt.Sprintf("#%d;", r)
}
