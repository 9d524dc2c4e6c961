package pages

import (
	"strings"

	"github.com/rehearse-dev/rehearse/internal/run/runindex"
)

// sameLines reports whether two texts are the same but for the ends of their lines. Browsers end each line of what a
// form sends with CR LF.
func sameLines(a, b string) bool { return a == b || lines(a) == lines(b) }

func lines(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
}

// namedInForm returns the tests that a form names, whose suite or target has several lines.
func namedInForm(index *runindex.Index, of runindex.Test) (matches []*runindex.Entry) {
	for _, e := range index.Tests {
		if e.TestID == of.ID && (of.Suite == "" || sameLines(e.Suite, of.Suite)) &&
			(of.Target == "" || sameLines(e.Target, of.Target)) {
			matches = append(matches, e)
		}
	}
	return matches
}
