// Package runner holds one conversation; it has the only turn loop of the program. It asks the target turn by turn,
// keeps the actual replies in the history, has the turns and the whole graded, and returns the record.
package runner

import (
	"context"
	"encoding/json"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// Target is a system under test. Implementations are safe for concurrent use; each conversation opens its own session.
type Target interface {
	Open(ctx context.Context, o Opening) (Session, error)
}

// Opening is what a target learns when a conversation begins.
type Opening struct {
	Test  *suite.Test
	Trial int
	// ConversationID is new for every conversation and trial: at most 64 letters, digits, - and _.
	ConversationID string
	// MCPURL is where the agent finds the tools of the conversation; empty for none. It is the target's to set.
	MCPURL string
}

// Session is one live conversation with a target, used by one goroutine at a time.
type Session interface {
	// Send says the user's message and returns the reply. The session carries its own history, which starts with the
	// test's Input. After an error the history is as it was before.
	Send(ctx context.Context, message chat.Content) (chat.Reply, error)
	// Close releases what the session holds; it is called exactly once.
	Close() error
}

// Historian is a session that began with more than the test's Input, for example with a recorded history from which it
// rebuilt its state.
type Historian interface {
	// Earlier returns what was said before the first turn. The caller does not change it.
	Earlier() []chat.Message
}

// Identified is a session that knows its ids.
type Identified interface {
	// ConversationID returns the id of the conversation: that of its opening, or in a playback the recorded one.
	ConversationID() string
	// SessionID returns the id by which the agent knows the conversation; empty while it has given none.
	SessionID() string
}

// SeedError says that a session's state differs from the one that the test gave it. Its failure code is SEED_MISMATCH.
type SeedError struct{ Reason string }

func (e *SeedError) Error() string { return "the state is not as it was set: " + e.Reason }

// FailureError is the error of a target that knows the failure to be recorded, such as one that plays an earlier run.
// The failure is recorded as it is, at its own turn where that one was not said yet.
type FailureError struct{ Failure result.Failure }

func (e *FailureError) Error() string { return e.Failure.Message }

// Grader decides one assertion. Implementations are safe for concurrent use.
type Grader interface {
	// Grade returns a score between 0 and 1 with the evidence.
	// A reply that fails is a low score; an error means that the grader could not decide.
	Grade(ctx context.Context, x *Exchange) (result.Grade, error)
}

// Exchange is what graders look at: one turn, or the whole conversation. Graders must not change it.
type Exchange struct {
	Test *suite.Test
	// Turn counts from 1; 0 stands for the whole conversation.
	Turn int
	// Input is, for a turn, the history up to and including the user's message, cut to the window;
	// for the conversation, the full transcript.
	Input []chat.Message
	// Output is the reply of this turn, or the last reply of the conversation.
	Output string
	// Text is what text graders look at: Output for a turn, every reply joined by blank lines for the conversation.
	Text     string
	Expected string
	Criteria string
	// Reply is the turn's reply with its circumstances; for the conversation it holds the last node, state and finish
	// reason, all tool calls, and sums of usage, cost and latency.
	Reply chat.Reply
	// Before is the state that the agent showed with the reply before this turn; nil for the first turn, which begins
	// as the test says, and for the whole conversation.
	Before json.RawMessage
	// TurnCount is the number of turns held so far.
	TurnCount int
	// Partial marks a transcript cut short by on_turn_failure: stop.
	Partial bool
}

// Check is one grader with the assertion that asked for it.
type Check struct {
	suite.Assertion
	Grader Grader
	// Judged is true when a model is asked; deterministic checks of a turn run first.
	Judged bool
	// Always is true when the model is asked even if a deterministic check has failed and execution.short_circuit is
	// set.
	Always bool
}

// Grading makes checks of assertions.
type Grading interface {
	Check(a suite.Assertion) (Check, error)
}
