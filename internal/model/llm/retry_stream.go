package llm

import (
	"context"
	"errors"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
)

// Stream tries again only as long as nothing was given out, because a second attempt could not take it back.
func (m *retried) Stream(ctx context.Context, r Request, token func(string)) (chat.Reply, error) {
	given := false
	sink := token
	if token != nil {
		sink = func(text string) {
			given = true
			token(text)
		}
	}
	reply, attempts, err := m.retrier.do(ctx, func(ctx context.Context) (chat.Reply, error) {
		reply, err := ask(ctx, m.model, r, sink)
		if err != nil && given {
			err = &begunError{err}
		}
		return reply, err
	})
	if begun := (*begunError)(nil); errors.As(err, &begun) {
		err = begun.error
	}
	if err == nil {
		reply.Attempts = attempts
	}
	return reply, err
}

// begunError is a failure after a part of the reply was given out.
type begunError struct{ error }

func (b *begunError) Unwrap() error { return b.error }

// transient reports whether another attempt makes sense.
func transient(err error) bool {
	if begun := (*begunError)(nil); errors.As(err, &begun) {
		return false
	}
	e, ok := asError(err)
	return ok && e.Transient()
}
