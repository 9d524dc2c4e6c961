package grader

import (
	"fmt"
	"strings"

	"rehearse/internal/runner"
)

func newContains(a *Args) runner.Grader {
	value := a.Text("value", "the text that the reply must hold")
	return textCheck(fmt.Sprintf("contains %q", value), func(text string) (bool, string) {
		return strings.Contains(text, value), quote(text)
	})
}

func newIContains(a *Args) runner.Grader {
	value := a.Text("value", "the text that the reply must hold")
	return textCheck(fmt.Sprintf("contains %q in any case", value), func(text string) (bool, string) {
		return strings.Contains(strings.ToLower(text), strings.ToLower(value)), quote(text)
	})
}
