package mine

import (
	"fmt"

	"rehearse/internal/text"
)

// Options returns how many options the nodes have.
func (f *Flow) Options() int {
	n := 0
	for _, node := range f.Nodes {
		n += len(node.Options)
	}
	return n
}

// Lines describes what was left out, in one sentence for each kind; it is nil when nothing was.
func (l *Left) Lines() []string {
	var lines []string
	tell := func(n int, format string, args ...any) {
		if n > 0 {
			lines = append(lines, fmt.Sprintf(format, args...))
		}
	}
	tell(l.Short, "sessions with too few messages of the user's: %d", l.Short)
	tell(l.States, "states that are too rare or cannot be reached: %d", l.States)
	tell(l.Transitions, "transitions that are too rare or belong to such states: %d, with %s", l.Transitions, text.Plural(l.Moves, "message"))
	tell(l.AfterEnd, "messages after an end: %d", l.AfterEnd)
	tell(l.Stateless, "messages without a state, or beyond %d states: %d", maxStates, l.Stateless)
	tell(l.Jumps, "changes of the state without a message of the user's: %d", l.Jumps)
	tell(l.Texts, "texts beyond %d different ones of a state or transition: %d", maxTexts, l.Texts)
	return lines
}
