package target

import (
	"context"
	"errors"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/retry"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// exchange is the server as a model: the last message of a request is the body of the call, and the text of the reply
// is the body of the answer. So wrappers of models, such as a recording, fit around a server.
type exchange struct{ *executeSession }

// Generate posts the body and retries a failed call.
func (x exchange) Generate(ctx context.Context, r llm.Request) (chat.Reply, error) {
	body := []byte(r.Messages[len(r.Messages)-1].Content.Text)
	call := llm.Model(attempt{x, body})
	if x.Limit != nil {
		call = x.Limit(call)
	}
	answer, attempts, err := retry.Do(ctx, x.policy(), func(ctx context.Context) (chat.Reply, error) {
		return call.Generate(ctx, llm.Request{})
	})
	switch {
	case err == nil:
		answer.Attempts = attempts
		return answer, nil
	case ctx.Err() != nil:
		return chat.Reply{}, err
	}
	return chat.Reply{}, &llm.Error{
		Fault: faultOf(err), Model: x.at(), Message: err.Error(), Attempts: attempts, Err: err,
	}
}

// attempt is one attempt of a call.
type attempt struct {
	exchange
	body []byte
}

// Generate posts the body once.
func (a attempt) Generate(ctx context.Context, _ llm.Request) (chat.Reply, error) {
	started := time.Now()
	result, err := a.post(ctx, a.body)
	return chat.Reply{Text: string(result), Latency: time.Since(started)}, err
}

func faultOf(err error) llm.Fault {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return llm.TimedOut
	case transient(err):
		return llm.Unavailable
	}
	return llm.Refused
}

// exchange sends a body and returns the answer.
func (s *executeSession) exchange(ctx context.Context, body []byte) (chat.Reply, error) {
	var server llm.Model = exchange{s}
	if s.Wrap != nil {
		server = s.Wrap(server)
	}
	reply, err := server.Generate(ctx, llm.Request{Messages: []chat.Message{chat.NewMessage(chat.User, string(body))}})
	if failed, ok := errors.AsType[*llm.Error](err); ok && failed.Fault != llm.Unrecorded {
		return reply, &executeError{failedExchange{failed}, failed.Attempts}
	}
	return reply, err
}

// failedExchange is a failed call with the server's own message, which is the same live and from a recording.
type failedExchange struct{ err *llm.Error }

// Error returns the message, which names the server.
func (f failedExchange) Error() string { return f.err.Message }

// Unwrap returns the failure as a model's.
func (f failedExchange) Unwrap() error { return f.err }
