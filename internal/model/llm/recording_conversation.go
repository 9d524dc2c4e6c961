package llm

import (
	"context"
	"sync"
)

// Conversation names the conversation to which a recorded exchange belongs. The zero value stands for what is asked
// outside of conversations.
type Conversation struct {
	Suite  string `json:"suite,omitempty"`
	Test   string `json:"test,omitempty"`
	Target string `json:"target,omitempty"`
	Trial  int    `json:"trial,omitempty"`
}

// masked returns the conversation without secrets.
func (c Conversation) masked(mask Mask) Conversation {
	return Conversation{mask.text(c.Suite), mask.text(c.Test), mask.text(c.Target), c.Trial}
}

type conversationKey struct{}

type conversationPosition struct {
	held Conversation
	// over is closed when the whole conversation is given up.
	over <-chan struct{}
}

// InConversation returns a context for everything that a conversation asks. The end of ctx itself means that the
// conversation was given up; the end of a context made of the result means that one of its time limits has passed.
func InConversation(ctx context.Context, c Conversation) context.Context {
	return context.WithValue(ctx, conversationKey{}, conversationPosition{c, ctx.Done()})
}

// ConversationOf returns the conversation of a context; the zero value outside of conversations.
func ConversationOf(ctx context.Context) Conversation {
	at, _ := ctx.Value(conversationKey{}).(conversationPosition)
	return at.held
}

// givenUp reports whether the conversation of ctx was given up as a whole. Outside of conversations, the end of ctx
// says so.
func givenUp(ctx context.Context) bool {
	at, inside := ctx.Value(conversationKey{}).(conversationPosition)
	if !inside {
		return ctx.Err() != nil
	}
	select {
	case <-at.over:
		return true
	default:
		return false
	}
}

type lackKey struct{}

type lack struct {
	mu    sync.Mutex
	first *Error
}

// NoteLack returns a context, and a function that returns the first exchange below it that a cassette did not hold or
// that could not be recorded; nil without one. Agents get over calls that fail, and a conversation that lacks an
// exchange must not pass for one that has it.
func NoteLack(ctx context.Context) (context.Context, func() error) {
	l := &lack{}
	return context.WithValue(ctx, lackKey{}, l), func() error {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.first == nil {
			return nil
		}
		return l.first
	}
}

// lacking notes the error for NoteLack and returns it.
func lacking(ctx context.Context, e *Error) *Error {
	if l, ok := ctx.Value(lackKey{}).(*lack); ok {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.first == nil {
			l.first = e
		}
	}
	return e
}
