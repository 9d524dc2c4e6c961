package langfuse

import (
	"context"
	"errors"
	"fmt"
	"time"

	"rehearse/internal/retry"
)

// maxAfter bounds the wait that the server may ask for before the next attempt. Langfuse counts requests by the minute.
const maxAfter = time.Minute

func newPolicy(attempts int) retry.Policy {
	return retry.Policy{
		Retries: attempts - 1, First: 500 * time.Millisecond,
		Transient: func(err error) bool { e, ok := errors.AsType[*Error](err); return ok && e.retry },
		After:     askedToWait, MaxAfter: maxAfter,
	}
}

func askedToWait(err error) time.Duration {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.RetryAfter
	}
	return 0
}

// do sends a request until it is answered or refused for good, or the attempts are used up.
func (c *Client) do(ctx context.Context, r request, into answer) error {
	_, attempts, err := retry.Do(ctx, c.policy, func(ctx context.Context) (struct{}, error) { return struct{}{}, c.once(ctx, r, into) })
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("%s: %s: %w", c.where, r.what, ctx.Err())
	}
	if e, ok := errors.AsType[*Error](err); ok {
		e.Attempts = attempts
	}
	return err
}
