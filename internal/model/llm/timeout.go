package llm

import (
	"context"
	"errors"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/config"
)

// Timeout returns model with each call bounded by after; 0 bounds nothing. A streamed reply has to be complete within
// that time. A call that takes longer is an *Error of fault TimedOut, which is also context.DeadlineExceeded, and bears
// name and at as Model and At. The end of the caller's own context is returned as it is.
func Timeout(model Model, after time.Duration, name, at string) Model {
	if after <= 0 {
		return model
	}
	return &timed{model, callTimeout{after, name, at}}
}

type timed struct {
	model Model
	limit callTimeout
}

func (t *timed) Generate(ctx context.Context, r Request) (chat.Reply, error) {
	return t.Stream(ctx, r, nil)
}

func (t *timed) Stream(ctx context.Context, r Request, token func(string)) (chat.Reply, error) {
	return within(ctx, t.limit, func(ctx context.Context) (chat.Reply, error) { return ask(ctx, t.model, r, token) })
}

type callTimeout struct {
	after    time.Duration
	name, at string
}

func within[T any](ctx context.Context, limit callTimeout, call func(context.Context) (T, error)) (T, error) {
	bounded, cancel := context.WithTimeout(ctx, limit.after)
	defer cancel()
	value, err := call(bounded)
	if bounded.Err() == nil || ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
		return value, err
	}
	return value, &Error{
		Fault: TimedOut, Model: limit.name, At: limit.at,
		Message: "no answer within " + limit.after.String(), Hint: "raise timeout if it needs longer",
	}
}

// callTimeoutOf returns the time that one call of m may take.
func callTimeoutOf(m config.Model, at string) callTimeout {
	after := m.Timeout
	if after <= 0 {
		after = 2 * time.Minute
	}
	return callTimeout{after, m.String(), at}
}
