package draw

import (
	"fmt"
	"strings"
)

// breaker is a space of no width, as an entity: it parts what Mermaid would else take for mathematics ($$) or an icon (fa:fa-x) even
// where it is written in entities, since labels with a line break are read twice.
const breaker = "#8203;"

// entities returns one line of text for a quoted label of Mermaid. Letters, digits, spaces and harmless punctuation stay; all else
// becomes an entity, since Mermaid finds quotes, tags, directives (%%{) and Markdown in labels.
// So do a dot, a dash and a bracket where they could begin a list.
func entities(s string) string {
	var b strings.Builder
	list := true // so far there is only what can stand before the sign of a list
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
	return r >= 0x80 || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(" ,?!'(/", r)
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
