package llm

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/retry"
)

// maxAfter is the longest that a server may ask to wait before the next attempt.
const maxAfter = time.Minute

// Policy says how Retry treats failures. The zero value never tries again.
type Policy struct {
	// Model and At name the model in the errors that Retry itself makes.
	Model, At string
	// Retries is how often a failed call is tried again.
	Retries int
	// MaxAfter is the longest that a server may ask to wait before the next attempt; 0 means a minute.
	MaxAfter time.Duration
	// Breaker is shared with others that ask the same address; nil means one of its own.
	Breaker *Breaker
}

// Retry returns model with failed calls tried again where that can help (Error.Transient). It waits as package retry
// says, or as long as the server asks; when that is more than a minute, it fails at once. Each attempt stands for
// itself: what bounds or limits attempts (Timeout, Limits.Limit) goes inside. After 5 calls in a row that failed as
// Unreachable, without a connection, further calls fail at once; every 10 seconds one call may try anew. Reply.Attempts
// and Error.Attempts count the tries. The end of the caller's context is returned as it is.
func Retry(model Model, p Policy) Model { return &retried{model, newRetrier[chat.Reply](p)} }

type retried struct {
	model   Model
	retrier *retrier[chat.Reply]
}

func (m *retried) Generate(ctx context.Context, r Request) (chat.Reply, error) {
	return m.Stream(ctx, r, nil)
}

// retrier is the part of Retry that is the same for every kind of result.
type retrier[T any] struct {
	policy  Policy
	breaker *Breaker
}

func newRetrier[T any](p Policy) *retrier[T] {
	p.MaxAfter = cmp.Or(p.MaxAfter, maxAfter)
	if p.Breaker == nil {
		p.Breaker = NewBreaker()
	}
	return &retrier[T]{p, p.Breaker}
}

// do calls until a call succeeds or cannot be mended by another. It returns the number of attempts beside the result.
func (r *retrier[T]) do(ctx context.Context, call func(context.Context) (T, error)) (T, int, error) {
	var none T
	if ctx.Err() != nil {
		return none, 0, ctx.Err()
	}
	if !r.breaker.circuit.TryAcquirePermit() {
		return none, 0, r.breakerOpen()
	}
	policy := retry.Policy{
		Retries: max(0, r.policy.Retries), Transient: transient, After: retryAfter, MaxAfter: r.policy.MaxAfter,
	}
	value, attempts, err := retry.Do(ctx, policy, call)
	r.breaker.record(err)
	e, ok := asError(err)
	if !ok {
		return value, attempts, err
	}
	failure := *e // the model may hand out one error many times
	failure.Attempts = attempts
	if failure.RetryAfter > r.policy.MaxAfter && failure.Transient() {
		failure.Message += ", and asks to wait " + failure.RetryAfter.Round(time.Second).String() + ", longer than " +
			r.policy.MaxAfter.String()
		failure.Hint = "try again later, or send less at a time"
	}
	return none, attempts, &failure
}

func retryAfter(err error) time.Duration {
	if e, ok := asError(err); ok {
		return e.RetryAfter
	}
	return 0
}

func asError(err error) (*Error, bool) {
	return errors.AsType[*Error](err)
}

// policyOf returns how calls of m are tried again.
func policyOf(m config.Model, at string) Policy {
	p := Policy{Model: m.String(), At: at, Retries: 2}
	if m.Retries != nil {
		p.Retries = *m.Retries
	}
	return p
}
