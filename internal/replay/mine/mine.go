// Package mine learns a node flow from logged sessions: states become nodes, observed successors become options, and
// users' messages become the examples of the option that was taken.
//
// It counts in one pass over the sessions. Its memory depends on the number of states and different texts, both of
// which are bounded, and not on the number of sessions. The same log gives the same flow, whichever store keeps it.
package mine

import (
	"fmt"
	"iter"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/replay"
)

// All as Options.Examples keeps every example.
const All = 0

// Options are the settings of Learn.
type Options struct {
	// ID is the id of the flow.
	ID string
	// MinCount is the least number of occurrences of a state or a transition, at least 1.
	MinCount int
	// Examples is the number of examples of an option, the most frequent first; All keeps all of them.
	Examples int
	// MinTurns is the least number of user messages of a session. A session without any is always left out.
	MinTurns int
}

// Flow is a learned node flow.
type Flow struct {
	ID string
	// Start is the id of the start node, which has no state.
	Start string
	// First are the nodes of the states in which sessions begin, the most frequent first.
	First []string
	// Nodes are in the order in which they are first reached.
	Nodes   []*Node
	Learned Learned
	Left    Left
	// Faults are what the log has wrong. Only Log.Learn fills them in.
	Faults replay.Faults
}

// Node is a state of the log.
type Node struct {
	ID string
	// State is the name of the state in the log. It differs from ID when it is not a valid node ID.
	State string
	// Prompt is the bot's most frequent message on entering the state.
	Prompt string
	// Count is how often the state was entered.
	Count int
	// Stop says that the flow ends here.
	Stop    bool
	Options []*Option
}

// Option is a transition of the log.
type Option struct {
	ID, Label string
	// Next is the id of the next node, empty where the flow ends.
	Next string
	// Count is how often the transition was seen.
	Count int
	// Examples are messages of users who took the option, the most frequent first.
	Examples []string
}

// Learned describes the log that a flow was learned from.
type Learned struct {
	Sessions, Messages int
	// First and Last are the times at which the first and the last session began.
	First, Last time.Time
}

// Left counts what is in the log and not in the flow.
type Left struct {
	// Short counts sessions with too few user messages.
	Short int
	// States and Transitions occurred too rarely or cannot be reached; Moves is the number of occurrences of those
	// transitions.
	States, Transitions, Moves int
	// AfterEnd counts messages that were said after an end.
	AfterEnd int
	// Stateless counts user messages without a countable state, Jumps the state changes without a user message.
	Stateless, Jumps int
	// Texts counts messages that were left out because there were too many different ones.
	Texts int
}

// NothingError says that a log has nothing to learn a flow from.
type NothingError struct {
	// Reason says why, Hint what to do.
	Reason, Hint string
}

func (e *NothingError) Error() string { return e.Reason + ": " + e.Hint }

// Learn learns a flow from sessions. The error is a *NothingError when there is nothing to learn from.
func Learn(sessions iter.Seq2[*replay.Session, error], o Options) (*Flow, error) {
	o.MinCount, o.MinTurns = max(o.MinCount, 1), max(o.MinTurns, 1)
	t := newTally()
	for s, err := range sessions {
		switch {
		case err != nil:
			return nil, err
		case s.Turns() < o.MinTurns:
			t.left.Short++
		default:
			t.take(s)
		}
	}
	if err := t.enough(o.MinCount); err != nil {
		return nil, err
	}
	return shape(t, o), nil
}

// enough returns a *NothingError if a tally is too small for a flow.
func (t *tally) enough(least int) error {
	most := 0
	for _, m := range t.moves {
		most = max(most, m.count)
	}
	switch {
	case t.learned.Sessions == 0 && t.left.Short == 0:
		return &NothingError{"there is no session", "choose other days, or another flow"}
	case t.learned.Sessions == 0:
		return &NothingError{
			"there are too few messages of the user's in " + text.Plural(t.left.Short, "session"),
			"ask for fewer turns, or choose other days",
		}
	case most == 0:
		return &NothingError{
			fmt.Sprintf("in %s no message leads from one state to another", text.Plural(t.learned.Sessions, "session")),
			"a message of the user's tells where it leads by payload.state_transition and payload.next_state",
		}
	case most < least:
		return &NothingError{fmt.Sprintf("the most frequent transition has %s, and %d are asked for",
			text.Plural(most, "message"), least), "ask for fewer"}
	}
	return nil
}

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
	tell(l.Transitions, "transitions that are too rare or belong to such states: %d, with %s", l.Transitions,
		text.Plural(l.Moves, "message"))
	tell(l.AfterEnd, "messages after an end: %d", l.AfterEnd)
	tell(l.Stateless, "messages without a state, or beyond %d states: %d", maxStates, l.Stateless)
	tell(l.Jumps, "changes of the state without a message of the user's: %d", l.Jumps)
	tell(l.Texts, "texts beyond %d different ones of a state or transition: %d", maxTexts, l.Texts)
	return lines
}
