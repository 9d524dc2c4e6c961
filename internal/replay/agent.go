package replay

import (
	"context"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
)

// Agent is what a session is replayed against. Implementations are safe for concurrent use.
type Agent interface {
	// Open begins a conversation that touches no other one, nor anything of production.
	Open(ctx context.Context, at Moment) (Conversation, error)
	// RequestedField says what the user is asked for in a state: a field, or a set of options, in a form that can be
	// compared. It is empty where the agent does not know the state, or asks for nothing in particular.
	RequestedField(state string) string
}

// Moment is where in a session a conversation begins.
type Moment struct {
	SessionID string
	// State is the logged state before the next message.
	State string
	// Resumed puts the agent into State, with History behind it. Else the conversation begins anew, and State is the
	// one in which the session began.
	Resumed bool
	// History are the logged messages before this moment.
	History []LoggedMessage
	// Known is what the agent has collected at former moments of the session, as its answers said; nil when nothing.
	Known map[string]any
}

// Reticent is an Agent that may not tell all. Any other one says in what state a conversation stands, when it is
// complete, and what it has collected.
type Reticent interface {
	Reports() (states, completion, data bool)
}

// Conversation is one with an agent, used by one goroutine at a time.
type Conversation interface {
	// State is where the conversation stands; empty where the agent does not say.
	State() string
	// Send takes one turn.
	Send(ctx context.Context, text string) (Answer, error)
	// Close releases what the conversation holds; it is called exactly once.
	Close() error
}

// Decider is a Conversation in which something else than the agent decides what its answers come to. It does so when
// the clock has stopped.
type Decider interface {
	// Decide returns the answer with what was decided. An error means that it could not be decided.
	Decide(ctx context.Context, a Answer) (Answer, error)
}

// Answer is an agent's reply with what it means for the session.
type Answer struct {
	Reply chat.Reply
	State string
	// Completed is true when the conversation has reached its end, Ended when the agent takes no further message,
	// complete or not.
	Completed, Ended bool
	// ToolCalls counts the tools that the agent called for this answer, without those by which a flow moves.
	ToolCalls int
	// Data is all that the agent has collected so far; nil when it stores nothing.
	Data map[string]any
}

// NotThereError says that an agent cannot be put into a state, as its flow has no such state or ends there.
type NotThereError struct{ State, Why string }

func (e *NotThereError) Error() string {
	return "the conversation cannot go on in state " + e.State + ": " + e.Why
}
