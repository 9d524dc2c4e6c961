package text

import (
	"strings"
	"unicode"
)

// zeroWidth stands where GitHub would else make a link or notify somebody.
const zeroWidth = "\u200b"

// MaxComment is how many characters a report in Markdown has at most. GitHub takes no comment of more than 65,536.
const MaxComment = 60_000

// Markdown returns one line of text as Markdown that shows it and does nothing else: no markup, no HTML, no link, no
// mention. The text must be visible already. It may stand in a table, but not at the beginning of a line.
func Markdown(s string) string {
	var b strings.Builder
	before := ' '
	for i, r := range s {
		switch {
		case r == '_' && word(before) && word(after(s[i+1:])):
			b.WriteByte('_') // within a word it marks nothing
		case strings.ContainsRune("\\`*_[]|~$", r):
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteByte(' ')
		default:
			defuse(&b, s[i:], r)
		}
		before = r
	}
	return b.String()
}

// MarkdownAddress returns an address as it may stand between the brackets of a link.
func MarkdownAddress(address string) string {
	return strings.NewReplacer(" ", "%20", "(", "%28", ")", "%29", "<", "%3C", ">", "%3E", "\n", "%0A", "\\", "%5C",
		"|", "%7C", "\"", "%22", "`", "%60").Replace(address)
}

// MarkdownHTML returns one line of text as HTML that does nothing, to stand inside a block of HTML in Markdown.
// The text must be visible already.
func MarkdownHTML(s string) string {
	var b strings.Builder
	for i, r := range s {
		defuse(&b, s[i:], r)
	}
	return b.String()
}

// defuse writes the character that rest begins with so that it opens no tag, entity, link or mention.
func defuse(b *strings.Builder, rest string, r rune) {
	switch {
	case r == '<':
		b.WriteString("&lt;")
	case r == '>':
		b.WriteString("&gt;")
	case r == '&':
		b.WriteString("&amp;")
	case r == '@', r == '#':
		b.WriteString(string(r) + zeroWidth)
	case strings.HasPrefix(rest, "://"):
		b.WriteString(zeroWidth + ":")
	case strings.HasPrefix(strings.ToLower(rest[:min(len(rest), 4)]), "www."):
		b.WriteString(string(r) + zeroWidth)
	default:
		b.WriteRune(r)
	}
}

func word(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// after returns the first character of s, or a space.
func after(s string) rune {
	for _, r := range s {
		return r
	}
	return ' '
}
