package report

import (
	"strings"

	"rehearse/internal/result"
	"rehearse/internal/text"
)

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
