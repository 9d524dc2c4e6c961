package runner

import (
	"context"
	"errors"
	"fmt"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// User says the user's side of one conversation. It is used by one goroutine at a time.
type User interface {
	// Next returns what the user says next. An error means that the user has nothing to say that may reach the agent:
	// it ends the conversation and is not the agent's fault. A *UserInvalidError means that the user is at fault.
	Next(ctx context.Context, t UserScript) (Line, error)
}

// UserScript is a conversation as far as it has come.
type UserScript struct {
	// Messages are what was said so far, with what stood before the first turn. The user does not change them.
	Messages []chat.Message
	// Turn is the number of the turn that the user is about to begin, from 1. The agent has replied once in each turn
	// before it.
	Turn int
}

// Line is what a user says.
type Line struct {
	// Message is empty when the user sends nothing more. That ends the conversation whatever End is, unless Blank is
	// set.
	Message chat.Content
	// Blank sends a message without text, as a logged user may have done.
	Blank bool
	// End is true when the user sends nothing after this: the conversation ends with the reply.
	End bool
}

// Accountant is a User that says what it did.
type Accountant interface {
	// Account returns what the record tells about the user. end is how the talk ended, said what the user said in it.
	// Turns and End are the runner's to fill in.
	Account(end result.UserEnd, said []chat.Content) result.User
}

// script says a test's turns. Then it leaves the word to the next user, if there is one.
type script struct {
	turns []suite.Turn
	then  User
}

// Next implements User.
func (s script) Next(ctx context.Context, t UserScript) (Line, error) {
	switch {
	case t.Turn <= len(s.turns):
		return Line{Message: s.turns[t.Turn-1].Input, End: s.then == nil && t.Turn == len(s.turns)}, nil
	case s.then == nil:
		return Line{End: true}, nil
	}
	return s.then.Next(ctx, t)
}

// prepareUser makes the checks that a simulated user brings: those of the turns that it may say, and those that end the
// talk.
func (h *activeConversation) prepareUser() error {
	if h.Test.User == nil {
		return nil
	}
	if h.User == nil {
		return errors.New("no model plays its simulated user")
	}
	every, err := h.checks(h.Test.EveryTurn)
	if err != nil {
		return err
	}
	for len(h.turns) < h.Test.MostTurns() {
		h.turns = append(h.turns, every)
	}
	h.stops, err = h.checks(h.Test.User.StopWhen)
	return err
}

// user returns who says the user's side.
func (h *activeConversation) user() User {
	if h.Test.User == nil {
		return script{turns: h.Test.Turns}
	}
	return script{h.Test.Turns, guarded{h}}
}

// guarded is the simulated user of a conversation. Neither a panic nor a hang of it ends more than the conversation.
type guarded struct{ h *activeConversation }

// Next implements User.
func (g guarded) Next(ctx context.Context, t UserScript) (Line, error) {
	return isolate(ctx, g.h.Guard, func() (Line, error) { return g.h.User.Next(ctx, t) }, nil)
}

// UserInvalidError is the fault of a simulated user that broke its rules a second time.
type UserInvalidError struct {
	Code string
	Turn int
	Why  string
}

func (e *UserInvalidError) Error() string {
	return fmt.Sprintf("the simulated user is at fault in turn %d: %s: %s", e.Turn, e.Code, e.Why)
}

// mute records that the user said nothing in turn i that may reach the agent.
func (h *activeConversation) mute(ctx context.Context, i int, err error) {
	if fault, ok := errors.AsType[*UserInvalidError](err); ok {
		h.spoiled, h.end = fault, result.EndFault
		return
	}
	if known, ok := errors.AsType[*FailureError](err); ok {
		h.fail(max(i, known.Failure.Turn-1), known.Failure)
		return
	}
	h.failAt(ctx, i, result.Failure{Code: result.EngineError, Source: "user", Turn: i + 1, Message: err.Error()})
	if !errors.Is(context.Cause(ctx), errTooLong) {
		h.end = result.EndFault
	}
}

// silent records that the user ended the talk before turn i without a message. A talk without any reply decides
// nothing.
func (h *activeConversation) silent(ctx context.Context, i int) {
	if i == 0 {
		h.failAt(ctx, i, result.Failure{
			Code: result.EngineError, Source: "user", Turn: 1,
			Message: "the user ended the talk before it said anything, so that there is no reply to grade",
		})
	}
	h.end = result.EndUser
}

// satisfied reports whether the reply fulfils an assertion that ends the talk. One that cannot be decided ends it as an
// error.
func (h *activeConversation) satisfied(ctx context.Context, x *Exchange) (bool, error) {
	for _, c := range h.stops {
		g, err := h.ask(ctx, c, x)
		if err != nil {
			f := undecidedBy(ctx, c, x, fmt.Errorf("whether the talk ends: %w", err))
			h.failed = &f
			return false, err
		}
		if c.Passes(c.Adjust(g), h.threshold) {
			return true, nil
		}
	}
	return false, nil
}

// heard leaves only the items of turns that were held, and of those that were written or named as not held.
func (h *activeConversation) heard() {
	if h.Test.User != nil && h.scores != nil {
		h.scores = h.scores[:min(len(h.scores), max(len(h.Test.Turns), h.reached))]
	}
}

// account returns what the record tells about a simulated user; nil without one.
func (h *activeConversation) account() *result.User {
	a, ok := h.User.(Accountant)
	if h.Test.User == nil || !ok {
		return nil
	}
	said := make([]chat.Content, 0, len(h.log))
	for _, turn := range h.log {
		said = append(said, turn.Input)
	}
	u := a.Account(h.end, said)
	u.Turns, u.End = len(said), h.end
	if u.Faults == nil {
		u.Faults = []result.UserFault{}
	}
	return &u
}
