package grader

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
)

// newEquals returns the constructor of equals and iequals.
func newEquals(c letterCase) func(*Args) runner.Grader {
	return func(a *Args) runner.Grader {
		value := strings.TrimSpace(a.Text("value", "the whole reply; white space around it does not count"))
		wanted := c.of(value)
		return pieceCheck("equals "+quote(value)+c.note(), c, func(text string) (bool, string) {
			got := c.of(strings.TrimSpace(text))
			if got == wanted {
				return true, quote(text)
			}
			return false, difference(wanted, got)
		}, func(text string) [][2]int {
			if got := strings.TrimSpace(text); got == wanted {
				at := strings.Index(text, got)
				return [][2]int{{at, at + len(got)}}
			}
			return nil
		})
	}
}

// difference shows got from shortly before the place where it begins to differ from wanted.
func difference(wanted, got string) string {
	same := 0
	for same < min(len(wanted), len(got)) && wanted[same] == got[same] {
		same++
	}
	start := runeStart(got, same-maxQuoted/2)
	if start == 0 {
		return quote(got)
	}
	at := utf8.RuneCountInString(got[:runeStart(got, same)]) + 1
	return fmt.Sprintf("%s, which differs from character %d on", quote("…"+got[start:]), at)
}

// newStartsWith returns the constructor of starts_with and istarts_with.
func newStartsWith(c letterCase) func(*Args) runner.Grader {
	return func(a *Args) runner.Grader {
		value := a.affix("the text that the reply must start with; white space before it does not count")
		wanted := c.of(strings.TrimLeftFunc(value, unicode.IsSpace))
		return textCheck("starts with "+quote(value)+c.note(), func(text string) (bool, string) {
			return strings.HasPrefix(c.of(strings.TrimLeftFunc(text, unicode.IsSpace)), wanted), quote(text)
		})
	}
}

// newEndsWith returns the constructor of ends_with and iends_with.
func newEndsWith(c letterCase) func(*Args) runner.Grader {
	return func(a *Args) runner.Grader {
		value := a.affix("the text that the reply must end with; white space after it does not count")
		wanted := c.of(strings.TrimRightFunc(value, unicode.IsSpace))
		return textCheck("ends with "+quote(value)+c.note(), func(text string) (bool, string) {
			return strings.HasSuffix(c.of(strings.TrimRightFunc(text, unicode.IsSpace)), wanted), quoteEnd(text)
		})
	}
}

func (a *Args) affix(doc string) string {
	value := a.Text("value", doc)
	if v, _ := a.node.Get("value"); v.Kind == source.String && strings.TrimSpace(value) == "" {
		a.Report("value", "write the text to look for", "the text is empty, and every reply has that")
	}
	return value
}
