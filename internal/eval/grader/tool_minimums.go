package grader

import (
	"fmt"
	"slices"
	"strings"
)

// minimum is how often a tool must be called at least.
type minimum struct {
	name  string
	least int
}

type minimums []minimum

// minimums reads {tool: least number of calls}.
func (a *Args) minimums() minimums {
	n, ok := a.Node("minimums", "mapping", "how often each tool must be called at least: {search: 2}", false)
	a.refers("minimums")
	if !ok {
		return nil
	}
	var all minimums
	for name, count := range n.Entries() {
		all = append(all, minimum{name, count.Int(1)})
	}
	if len(all) == 0 {
		n.Report("write {NAME OF THE TOOL: 1}", "minimums names no tool")
	}
	return all
}

// String writes the least numbers as a person would.
func (m minimums) String() string {
	texts := make([]string, len(m))
	for i, one := range m {
		texts[i] = fmt.Sprintf("at least %d of %s", one.least, callName(one.name))
	}
	return strings.Join(texts, ", ")
}

// missing says which tools were called too seldom, or "".
func (m minimums) missing(calls []actualCall) string {
	var texts []string
	for _, one := range m {
		made := len(slices.DeleteFunc(slices.Clone(calls), func(c actualCall) bool { return c.name != one.name }))
		if made < one.least {
			texts = append(texts, fmt.Sprintf("%d of %s", made, callName(one.name)))
		}
	}
	if len(texts) == 0 {
		return ""
	}
	return "only " + strings.Join(texts, ", ")
}
