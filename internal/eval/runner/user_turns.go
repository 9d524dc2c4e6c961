package runner

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/collect"
	"github.com/rehearse-dev/rehearse/internal/base/trace"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// spokenTurn is a turn that was said, and is to be graded as a part of its span.
type spokenTurn struct {
	ctx      context.Context
	span     *trace.Span
	exchange *Exchange
}

// talk asks turn by turn and fills scores, one for each turn. An error is that of opening the session.
func (h *activeConversation) talk(ctx context.Context, session Session, err error) {
	h.skipTurns()
	if err != nil {
		h.engineFailure(ctx, 0, err)
		return
	}
	defer func() {
		if !h.abandoned {
			h.closed(session)
		}
	}()

	// The channel never blocks: it has room for every turn.
	spoken := make(chan spokenTurn, len(h.turns))
	graded := make(chan struct{})
	go func() {
		defer close(graded)
		for t := range spoken {
			h.gradeTurn(t)
		}
	}()
	defer func() { <-graded }()
	defer close(spoken)
	user := h.user()
	stop := false
	for i := range h.turns {
		turn, span := trace.Start(ctx, trace.Turn, trace.A(trace.TurnNumber, i+1))
		line, err := user.Next(collect.Aside(trace.As(turn, trace.User)), UserScript{
			Messages: slices.Clip(h.history), Turn: i + 1,
		})
		if err != nil {
			spanFailed(span, err)
			h.mute(ctx, i, err)
			return
		}
		if line.Message.Empty() && !line.Blank && i >= len(h.Test.Turns) {
			spanFailed(span, nil)
			h.silent(ctx, i)
			return
		}
		h.reached = i + 1
		x, err := h.say(turn, session, i, line.Message)
		h.identify(session)
		if err != nil {
			span.Fail(err.Error())
			span.Finish()
			h.engineFailure(ctx, i, err)
			return
		}
		said := spokenTurn{turn, span, x}
		h.ended = x.Reply.Ended
		if h.Turned != nil {
			h.Turned(i+1, len(h.turns))
		}
		if h.Test.StopOnFailure || h.InOrder {
			h.gradeTurn(said)
		} else {
			spoken <- said
		}
		if !stop && !h.ended {
			if stop, err = h.satisfied(turn, x); err != nil {
				return
			}
		}
		switch {
		case h.ended:
			h.end = result.EndAgent
			return
		case stop && i+1 >= len(h.Test.Turns):
			h.end = result.EndStop
			return
		case line.End:
			h.end = result.EndUser
			return
		case h.Test.StopOnFailure && i+1 < len(h.turns) && h.scores[i].Verdict == result.Fail:
			// The rest is skipped. What a simulated user would have said is not known, but that it would have gone on
			// is.
			h.stopped, h.reached, h.end = true, i+2, result.EndStop
			return
		}
	}
	h.end = result.EndTurnLimit
}

// open opens the session and takes what it began with.
func (h *activeConversation) open(ctx context.Context) (Session, error) {
	type opened struct {
		session Session
		earlier []chat.Message
	}
	o, err := isolate(ctx, h.Guard, func() (opened, error) {
		session, err := h.Target.Open(ctx, Opening{Test: h.Test, Trial: h.Trial, ConversationID: h.ID})
		if err == nil && session == nil {
			err = errors.New("the target opened no conversation")
		}
		if s, ok := session.(Historian); ok && err == nil {
			return opened{session, slices.Clone(s.Earlier())}, nil
		}
		return opened{session, h.Test.Input}, err
	}, func(late opened) { h.closed(late.session) })
	if err == nil {
		h.history = slices.Clone(o.earlier)
	}
	return o.session, err
}

// identify keeps the ids of the conversation, and reports whether the session knows them. A session that was abandoned
// is still in use.
func (h *activeConversation) identify(session Session) bool {
	if s, ok := session.(Identified); ok && !h.abandoned {
		ids, err := isolate(ended(), h.Guard, func() ([2]string, error) {
			return [2]string{s.ConversationID(), s.SessionID()}, nil
		}, nil)
		if err == nil {
			h.ID, h.sessionID = cmp.Or(ids[0], h.ID), ids[1]
			return true
		}
	}
	return false
}

// closed closes a session. A failure to close changes nothing in what was said.
func (h *activeConversation) closed(session Session) {
	if session == nil {
		return
	}
	_, _ = isolate(ended(), h.Guard, func() (struct{}, error) { return struct{}{}, session.Close() }, nil)
}

// say sends one user message and adds the actual reply to the history.
func (h *activeConversation) say(ctx context.Context, session Session, i int, message chat.Content) (*Exchange, error) {
	turn := suite.Turn{Input: message}
	if i < len(h.Test.Turns) {
		turn = h.Test.Turns[i]
	}
	ctx = collect.Turn(ctx, i+1)
	asked := h.Now()
	reply, err := isolate(ctx, h.Guard, func() (chat.Reply, error) { return session.Send(ctx, turn.Input) },
		func(chat.Reply) { h.closed(session) })
	h.abandoned = errors.Is(err, errAbandoned)
	if reply.Latency == 0 && !reply.Untimed {
		reply.Latency = h.Now().Sub(asked)
	}
	latency := result.Milliseconds(milliseconds(reply.Latency))
	if reply.Untimed {
		latency = result.Milliseconds(math.NaN())
	}
	collected(ctx, turn.Input, reply)
	reply.Attempts = max(1, reply.Attempts)
	reply.TraceID = cmp.Or(reply.TraceID, trace.ID(h.ID))
	if worked(err) {
		reply.Usage.Unknown, reply.Cost.Unknown = true, true
	}
	h.log = append(h.log, result.Turn{
		Index: i + 1, TurnID: turn.ID, Input: turn.Input, Output: reply.Text, LatencyMS: latency,
		Attempts: reply.Attempts, ToolCalls: reply.ToolCalls, Node: reply.Node, State: reply.State, Usage: reply.Usage,
		Cost: reply.Cost, TraceID: reply.TraceID, FinishReason: reply.FinishReason,
		FirstTextMS: milliseconds(reply.FirstText), Requests: reply.Requests,
	})
	for _, call := range reply.ToolCalls {
		trace.Called(ctx, call.Name, call.LatencyMS, call.Args, call.Result)
	}
	h.history = append(h.history, chat.Message{Role: chat.User, Content: turn.Input})
	if err != nil {
		var tries interface{ Tries() int }
		if errors.As(err, &tries) {
			h.log[i].Attempts = max(reply.Attempts, tries.Tries())
		}
		return nil, err
	}
	x := &Exchange{
		Test: h.Test, Turn: i + 1, Input: window(h.shown(), h.Test.WindowSize), Output: reply.Text, Text: reply.Text,
		Expected: turn.Expected, Criteria: h.Test.Criteria, Reply: reply, TurnCount: i + 1,
	}
	if n := len(h.replies); n > 0 {
		x.Before = h.replies[n-1].State
	}
	h.history = append(h.history, reply.Message())
	h.replies = append(h.replies, reply)
	return x, nil
}

// collected gathers the results of a turn's tools, and the message where nothing else tells what the target was sent.
func collected(ctx context.Context, message chat.Content, reply chat.Reply) {
	collect.Note(ctx, message.String())
	for _, call := range reply.ToolCalls {
		if len(call.Result) == 0 {
			continue
		}
		collect.Put(ctx, collect.ToolResult, func() []byte {
			data, err := json.Marshal(call)
			if err != nil { // arguments that are no JSON
				return call.Result
			}
			return data
		})
	}
}

// worked reports whether a model may have worked for a turn that failed.
func worked(err error) bool {
	var call interface{ Worked() bool }
	return errors.As(err, &call) && call.Worked() || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, context.Canceled)
}

// window returns the system messages and the last n turns; a turn begins with a user's message. An n of 0 keeps
// everything.
func window(history []chat.Message, n int) []chat.Message {
	if n == 0 {
		return slices.Clip(history)
	}
	start := len(history)
	for start > 0 && n > 0 {
		start--
		if history[start].Role == chat.User {
			n--
		}
	}
	var seen []chat.Message
	for i, m := range history {
		if i >= start || m.Role == chat.System {
			seen = append(seen, m)
		}
	}
	return seen
}

// engineFailure records that the target did not answer turn i. Later turns stay skipped.
func (h *activeConversation) engineFailure(ctx context.Context, i int, err error) {
	f := result.Failure{Code: result.EngineError, Source: "transport", Turn: i + 1, Message: err.Error()}
	if _, seeded := errors.AsType[*SeedError](err); seeded {
		f.Code, f.Source = result.SeedMismatch, "target"
	}
	if errors.Is(err, context.DeadlineExceeded) {
		f.Code, f.Source = result.Timeout, "orchestrator"
	}
	if known, ok := errors.AsType[*FailureError](err); ok {
		h.fail(max(i, known.Failure.Turn-1), known.Failure)
		return
	}
	h.failAt(ctx, i, f)
}

// failAt records the failure that ended the conversation in turn i. The end of its time goes before any other cause.
func (h *activeConversation) failAt(ctx context.Context, i int, f result.Failure) {
	if errors.Is(context.Cause(ctx), errTooLong) {
		f.Code, f.Source = result.Timeout, "orchestrator"
		f.Message = tooLong(h.Test)
	}
	h.fail(i, f)
}

// fail records the failure that ended the conversation in turn i; below 0 stands for what belongs to no turn.
func (h *activeConversation) fail(i int, f result.Failure) {
	h.failed = &f
	h.reached = max(h.reached, i+1)
	if i >= 0 && i < len(h.scores) {
		h.scores[i].Verdict = result.Error
		h.scores[i].Failures = []result.Failure{f}
	}
}

func tooLong(t *suite.Test) string {
	return fmt.Sprintf("%v (%s)", errTooLong, t.Execution.ConversationTimeout)
}
