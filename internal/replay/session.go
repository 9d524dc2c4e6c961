package replay

import (
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// Session is a logged conversation.
type Session struct {
	// ID is the id in the log, and of a later session of the same id also when it began (LoggedID).
	ID, FlowID string
	// UnitID names the user: the unit of the first event that has one.
	UnitID   string
	Messages []LoggedMessage
	// Completed and Dropped say how it ended; with neither, its outcome is not known.
	Completed, Dropped bool
	// Data is what was collected, nil when the log says nothing of it.
	Data    map[string]any
	Started time.Time
	Ended   time.Time
	// Slices are the values of the fields by which sessions are sliced, as far as it has them.
	Slices map[string]string

	end     time.Time // that of the last row with its outcome
	earlier []string  // the flows of the session before it of the same id, which count where its events name none

	final  string   // the state in which it ended, as the row of its end says
	turn   int      // the highest turn number so far
	text   int      // the bytes of its messages so far
	flows  []string // the flows that its events name
	inside bool     // an event lies in the range that was asked for
	faults Faults
}

// maxMessages bounds the messages of a session that are read, maxText the bytes of what they say.
const (
	maxMessages = 50_000
	maxText     = 16 << 20
)

// LoggedMessage is a message of the log. Before and After are the states around it, empty where the log does not say;
// readStates sets them. Those of an answer are both the state after it.
type LoggedMessage struct {
	User          bool
	Text          string
	Before, After string
	LatencyMS     *float64
	At            time.Time

	logged rowStates
}

// Turns returns how many messages of the user's the session has.
func (s *Session) Turns() int {
	n := 0
	for i := range s.Messages {
		if s.Messages[i].User {
			n++
		}
	}
	return n
}

// Side says which state of a turn counts: that before the user's message, or that after it.
type Side string

// The sides of a turn.
const (
	Before Side = "before"
	After  Side = "after"
)

// Check returns an error unless the side is one of the two.
func (s Side) Check() error {
	if s != After && s != Before {
		return source.Invalid("unknown --states %q: use after or before", s)
	}
	return nil
}

// States returns the states of the session's turns, in their order.
func (s *Session) States(side Side) []string {
	states := make([]string, 0, len(s.Messages))
	for i := range s.Messages {
		switch m := &s.Messages[i]; {
		case !m.User:
		case side == Before:
			states = append(states, m.Before)
		default:
			states = append(states, m.After)
		}
	}
	return states
}

// Known reports whether it is known how the session ended.
func (s *Session) Known() bool { return s.Completed || s.Dropped }

// Mixed reports whether its events name more than one flow.
func (s *Session) Mixed() bool { return len(s.flows) > 1 }
