package llm

import (
	"regexp"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

func (c *condition) read(n source.Node) {
	n.Read(map[string]func(source.Node){
		"user":      func(n source.Node) { c.user = pattern(n) },
		"system":    func(n source.Node) { c.system = pattern(n) },
		"model":     func(n source.Node) { c.model = pattern(n) },
		"assistant": func(n source.Node) { c.assistant = pattern(n) },
		"result":    func(n source.Node) { c.result = pattern(n) },
		"after":     func(n source.Node) { c.after = n.Text() },
		"choice":    func(n source.Node) { c.choice = n.Text() },
		"node":      func(n source.Node) { c.node = pattern(n) },
		"args":      func(n source.Node) { c.args = readArguments(n) },
		"tools":     func(n source.Node) { c.tools = n.Texts() },
		"turn":      func(n source.Node) { c.turn = n.Int(1) },
		"call":      func(n source.Node) { c.call = n.Int(1) },
	})
	if c.result != nil && c.after == afterUser {
		n.Report("write after: tool, or the name of the tool", "result looks at the result of a tool, but after says that the user's message is the last")
	}
}

func readArguments(n source.Node) (list []argument) {
	for name, value := range n.Entries() {
		a := argument{name: name, text: value.Text()}
		if regexp.QuoteMeta(a.text) != a.text && pattern(value) != nil {
			a.pattern = compilePattern(value, "^(?:"+a.text+")$")
		}
		list = append(list, a)
	}
	return list
}

// pattern reads a regular expression; a broken one is reported and matches everything.
func pattern(n source.Node) *regexp.Regexp { return compilePattern(n, n.Text()) }

func compilePattern(n source.Node, expression string) *regexp.Regexp {
	re, err := regexp.Compile(expression)
	if err != nil {
		n.Report(
			"write a Go regular expression (RE2); quote special characters with \\",
			"bad pattern: %s", strings.TrimPrefix(err.Error(), "error parsing regexp: "),
		)
		return nil
	}
	return re
}
