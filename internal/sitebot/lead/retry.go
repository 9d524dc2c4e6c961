package lead

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"rehearse/internal/retry"
)

const (
	// retries is how often a message that was not taken is sent again.
	retries = 3
	// attemptLimit is how long one attempt may take.
	attemptLimit = 10 * time.Second
	// maxAfter is the longest that a receiver may ask to wait before the next attempt.
	maxAfter = 5 * time.Minute
)

// refusal is an answer that is no success.
type refusal struct {
	status int
	// after is how long the receiver asks to wait; 0 if it does not say.
	after time.Duration
	// redirect says where the answer redirects to; empty if it does not.
	redirect string
}

func (r *refusal) Error() string {
	text := "status " + strconv.Itoa(r.status)
	switch {
	case r.redirect != "":
		return text + ": " + r.redirect + "; use the address that it redirects to"
	case r.after > maxAfter:
		return text + ": it asks to wait " + r.after.String() + ", longer than " + maxAfter.String()
	case !r.transient():
		return text + ": check the address, and the secret or key"
	}
	return text
}

func (r *refusal) transient() bool {
	return r.status == http.StatusRequestTimeout || r.status == http.StatusTooManyRequests || r.status >= http.StatusInternalServerError
}

// sendWithRetry sends a message until it is taken, refused for good, or retries are used up. It returns the number of attempts.
func sendWithRetry(ctx context.Context, to receiver, m message) (int, error) {
	policy := retry.Policy{Retries: retries, First: time.Second, Transient: transient, After: askedToWait, MaxAfter: maxAfter}
	attempts := 0
	_, _, err := retry.Do(ctx, policy, func(ctx context.Context) (struct{}, error) {
		select {
		case to.slots() <- struct{}{}:
			defer func() { <-to.slots() }()
		case <-ctx.Done():
			return struct{}{}, ctx.Err()
		}
		attempts++ // waiting for a slot is no attempt
		limited, cancel := context.WithTimeout(ctx, attemptLimit)
		defer cancel()
		return struct{}{}, explain(ctx, limited, to.send(limited, m))
	})
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return attempts, err
}

// errSlow is the error of an attempt that was broken off.
var errSlow = errors.New("no answer within " + attemptLimit.String())

func explain(ctx, limited context.Context, err error) error {
	if err != nil && ctx.Err() == nil && limited.Err() != nil {
		return errSlow
	}
	return err
}

// transient reports whether another attempt can help: after network errors, and where the receiver says so.
func transient(err error) bool {
	r, answered := errors.AsType[*refusal](err)
	return !answered || r.transient()
}

func askedToWait(err error) time.Duration {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r.after
	}
	return 0
}
