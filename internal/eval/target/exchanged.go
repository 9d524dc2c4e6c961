package target

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/process"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// event is a message that an agent sent, and when: since the request.
type event struct {
	Data  string        `json:"data"`
	After time.Duration `json:"after_ns"`
}

// exchanged is what is recorded of an exchange with an agent that answers with events.
type exchanged struct {
	Events []event `json:"events"`
	// Session is the agent's id of the conversation from the handshake of a WebSocket.
	Session string `json:"session,omitempty"`
}

// agent is an agent as a model: the last message of a request is what it is sent, and the text of the reply are the
// events that it answers with. So wrappers of models, such as a recording, fit around it.
type agent struct {
	// name is what recordings call the kind of agent, at what errors call this one.
	name, at string
	// wrap wraps a model in the recording, if there is one.
	wrap func(name string, m llm.Model) llm.Model
	ask  func(ctx context.Context, request string) (exchanged, error)
}

// Generate asks the agent. Its failure is an *llm.Error, unless ctx ended it.
func (a agent) Generate(ctx context.Context, r llm.Request) (chat.Reply, error) {
	started := time.Now()
	x, err := a.ask(ctx, r.Messages[len(r.Messages)-1].Content.Text)
	switch {
	case err != nil && ctx.Err() != nil:
		return chat.Reply{}, ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return chat.Reply{}, &llm.Error{Fault: llm.TimedOut, Model: a.at, Message: err.Error(), Attempts: 1, Err: err}
	case err != nil:
		return chat.Reply{}, &llm.Error{Fault: llm.Malformed, Model: a.at, Message: err.Error(), Attempts: 1, Err: err}
	}
	text, err := json.Marshal(x)
	return chat.Reply{Text: string(text), Latency: time.Since(started), Attempts: 1}, err
}

// exchange sends a request and returns the answer. A failure names the agent, and is the same live and from a
// recording.
func (a agent) exchange(ctx context.Context, request string) (x exchanged, took time.Duration, err error) {
	reply, err := a.wrap(a.name, a).Generate(ctx, llm.Request{Messages: []chat.Message{
		chat.NewMessage(chat.User, request),
	}})
	if failed, ok := errors.AsType[*llm.Error](err); ok && failed.Fault != llm.Unrecorded {
		return x, 0, &agentFailure{a.at, failed}
	}
	if err != nil {
		return x, 0, err
	}
	if err := json.Unmarshal([]byte(reply.Text), &x); err != nil {
		return x, 0, fmt.Errorf("read the recorded answer of %s: %w", a.at, err)
	}
	return x, reply.Latency, nil
}

// agentFailure is a failed exchange with the agent's address and what went wrong.
type agentFailure struct {
	at  string
	err *llm.Error
}

func (f *agentFailure) Error() string { return f.at + ": " + f.err.Message }
func (f *agentFailure) Unwrap() error { return f.err }

// noAnswer is an agent that did not answer in its time. Err is what ended with it.
type noAnswer struct {
	within time.Duration
	err    error
}

func (e *noAnswer) Error() string {
	said := fmt.Sprintf("no answer within %s (raise timeout if it needs longer)", e.within)
	if stray, ok := errors.AsType[*process.StrayError](e.err); ok {
		said += ", but " + stray.Line.Error()
	}
	return said
}
func (*noAnswer) Unwrap() error { return context.DeadlineExceeded }
