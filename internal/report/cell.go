package report

import (
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/report/page"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// signOf returns the sign of a test in a table.
func signOf(e *entry) string {
	if e.quarantined != nil {
		return "🔒 " + page.Emoji(e.verdict)
	}
	return page.Emoji(e.verdict)
}

// linkedCell writes a test's cell; the name of one that needs a look leads to its place on the page.
func (r *Report) linkedCell(e *entry) string {
	cell := testCell(e.id)
	if review := e.reviewed(); review != "" {
		cell += "<br>" + text.Markdown(review)
	}
	address := r.link(e.spot)
	if !e.failing() || address == "" {
		return cell
	}
	name := text.Markdown(text.OneLine(e.test, 200))
	return "[" + name + "](" + text.MarkdownAddress(address) + ")" + strings.TrimPrefix(cell, name)
}

// testCell writes a test's name, and below it where it is from.
func testCell(t id) string {
	s := text.Markdown(text.OneLine(t.test, 200))
	var from []string
	for _, part := range []string{t.suite, t.target} {
		if part != "" {
			from = append(from, text.Markdown(text.OneLine(part, 200)))
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
		parts = append(parts, text.Markdown(text.OneLine(string(c), 40)))
	}
	return strings.Join(parts, "<br>")
}
