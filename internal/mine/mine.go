// Package mine learns a node flow from logged sessions: states become nodes, the successors that were seen become options, and what users
// said becomes the examples of the option that it took.
//
// It counts in one pass over the sessions, so its memory depends on how many states and different texts there are, not on how many sessions,
// and both are bounded. The same log gives the same flow, whatever keeps it.
package mine

import (
	"fmt"
	"iter"
	"time"

	"rehearse/internal/replay"
	"rehearse/internal/text"
)

// All as Options.Examples keeps every example.
const All = 0

// Options say what is learned.
type Options struct {
	// ID is the id of the flow.
	ID string
	// MinCount is how often a state or a transition has to occur, at least 1.
	MinCount int
	// Examples is how many examples an option keeps, the most frequent first; All keeps every one.
	Examples int
	// MinTurns is how many messages of the user's a session has to have. One without any says nothing in any case.
	MinTurns int
}

// Flow is a learned node flow.
type Flow struct {
	ID string
	// Start is the id of the start node, which has no state.
	Start string
	// First are the nodes of the states in which sessions begin, the most frequent first.
	First []string
	// Nodes are in the order in which they are come to.
	Nodes   []*Node
	Learned Learned
	Left    Left
	// Faults are what the log has wrong. Only Log.Learn fills them in.
	Faults replay.Faults
}

// Node is a state of the log.
type Node struct {
	ID string
	// State is the state as it was logged. It differs from ID where it is no name for a node.
	State string
	// Prompt is what the bot said most often on entering the state.
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
	// Examples are what users said who took it, the most frequent first.
	Examples []string
}

// Learned says what a flow was learned from.
type Learned struct {
	Sessions, Messages int
	// First and Last are the times at which the first and the last session began.
	First, Last time.Time
}

// Left counts what was seen and is not in the flow.
type Left struct {
	// Short counts sessions with too few messages of the user's.
	Short int
	// States and Transitions occurred too rarely or cannot be reached; Moves is how often those transitions occurred.
	States, Transitions, Moves int
	// AfterEnd counts messages that were said after an end.
	AfterEnd int
	// Stateless counts messages of the user's without a state that could be counted, Jumps how often the state changed without a message of the user's.
	Stateless, Jumps int
	// Texts counts messages that were not compared because there were too many different ones.
	Texts int
}

// NothingError says that a log holds nothing that a flow could be made of.
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

// enough tells why a tally is too little for a flow.
func (t *tally) enough(least int) error {
	most := 0
	for _, m := range t.moves {
		most = max(most, m.count)
	}
	switch {
	case t.learned.Sessions == 0 && t.left.Short == 0:
		return &NothingError{"there is no session", "choose other days, or another flow"}
	case t.learned.Sessions == 0:
		return &NothingError{"there are too few messages of the user's in " + text.Plural(t.left.Short, "session"), "ask for fewer turns, or choose other days"}
	case most == 0:
		return &NothingError{
			fmt.Sprintf("in %s no message leads from one state to another", text.Plural(t.learned.Sessions, "session")),
			"a message of the user's tells where it leads by payload.state_transition and payload.next_state",
		}
	case most < least:
		return &NothingError{fmt.Sprintf("the most frequent transition has %s, and %d are asked for", text.Plural(most, "message"), least), "ask for fewer"}
	}
	return nil
}
