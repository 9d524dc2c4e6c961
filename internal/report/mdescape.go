package report

import (
	"strings"
	"unicode"

	"rehearse/internal/result"
)

// zeroWidth stands where GitHub would else make a link or notify somebody.
const zeroWidth = "\u200b"

// md returns one line of text as Markdown that shows it and does nothing else: no markup, no HTML, no link, no mention.
// The text must be visible already. It may stand in a table, but not at the beginning of a line.
func md(s string) string {
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
			defanged(&b, s[i:], r)
		}
		before = r
	}
	return b.String()
}

// markup returns one line of text as HTML that does nothing, to stand inside a block of HTML in Markdown.
func markup(s string) string {
	var b strings.Builder
	for i, r := range s {
		defanged(&b, s[i:], r)
	}
	return b.String()
}

// defanged writes the character that rest begins with so that it opens no tag, entity, link or mention.
func defanged(b *strings.Builder, rest string, r rune) {
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

// emoji returns the sign of a verdict that stands out in a table.
func emoji(v result.Verdict) string {
	switch v {
	case result.Pass:
		return "✅"
	case result.Fail:
		return "❌"
	case result.Error:
		return "⚠️"
	}
	return "⏭️"
}

// testCell writes a test's name, and below it where it is from.
func testCell(t id) string {
	s := md(oneLine(t.test, 200))
	var from []string
	for _, part := range []string{t.suite, t.target} {
		if part != "" {
			from = append(from, md(oneLine(part, 200)))
		}
	}
	if len(from) > 0 {
		s += "<br><sub>" + strings.Join(from, " · ") + "</sub>"
	}
	return s
}

func codeCell(codes []result.Code) string {
	parts := make([]string, 0, len(codes))
	for _, c := range codes {
		parts = append(parts, md(oneLine(string(c), 40)))
	}
	return strings.Join(parts, "<br>")
}
