package llm

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/failsafe-go/failsafe-go/retrypolicy"

	"rehearse/internal/chat"
	"rehearse/internal/config"
)

const (
	backoffBase = 200 * time.Millisecond
	backoffMost = 10 * time.Second
	// waitMost is the longest that a server may make us wait before the next attempt.
	waitMost = time.Minute
)

// Policy says how Retry treats failures. The zero value never tries again.
type Policy struct {
	// Model and At name the model in the errors that Retry itself makes.
	Model, At string
	// Retries is how often a failed call is tried again.
	Retries int
}

// Retry returns model with failed calls tried again where that can help (Error.Transient).
// It waits exponentially longer, with jitter, or as long as the server asks; when that is more than a minute, it fails at once.
// Each attempt stands for itself: what bounds or limits attempts (Timeout, Limits.Limit) goes inside.
// After 5 calls in a row that failed as Unreachable, further calls fail at once; every 10 seconds one call may try anew.
// Reply.Attempts and Error.Attempts count the tries. The end of the caller's context is returned as it is.
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
	retries failsafe.Executor[T]
	breaker circuitbreaker.CircuitBreaker[T]
}

func newRetrier[T any](p Policy) *retrier[T] {
	retries := retrypolicy.NewBuilder[T]().
		HandleIf(func(_ T, err error) bool { return transient(err) }).
		AbortIf(func(_ T, err error) bool { e, ok := asError(err); return ok && e.RetryAfter > waitMost }).
		WithMaxRetries(max(0, p.Retries)).
		WithDelayFunc(func(x failsafe.ExecutionAttempt[T]) time.Duration { return delay(x.LastError(), x.Retries()) }).
		ReturnLastFailure().
		Build()
	return &retrier[T]{policy: p, retries: failsafe.With(retries), breaker: newBreaker[T]()}
}

func (r *retrier[T]) do(ctx context.Context, call func(context.Context) (T, error)) (T, int, error) {
	var none T
	if ctx.Err() != nil {
		return none, 0, ctx.Err()
	}
	if !r.breaker.TryAcquirePermit() {
		return none, 0, r.open()
	}
	attempts := 0
	var last T
	var lastErr error
	value, err := r.retries.WithContext(ctx).Get(func() (T, error) {
		attempts++
		last, lastErr = call(ctx)
		return last, lastErr
	})
	if err != nil && attempts > 0 && lastErr == nil {
		value, err = last, nil // the caller left just as the reply came: it is paid for, so it is not thrown away
	}
	record(r.breaker, err)
	e, ok := asError(err)
	if !ok {
		return value, attempts, err
	}
	failure := *e // the model may hand out one error many times
	failure.Attempts = attempts
	if failure.RetryAfter > waitMost && failure.Transient() {
		failure.Message += ", and asks to wait " + failure.RetryAfter.Round(time.Second).String() + ", longer than " + waitMost.String()
		failure.Hint = "try again later, or send less at a time"
	}
	return none, attempts, &failure
}

// delay is the time before the next attempt. Jitter keeps calls that failed together from coming back together;
// it never comes earlier than the server asked.
func delay(err error, retries int) time.Duration {
	if e, ok := asError(err); ok && e.RetryAfter > 0 {
		return e.RetryAfter + rand.N(e.RetryAfter/10+1)
	}
	full := backoffMost
	if retries < 6 { // 200 ms doubled six times is more than the most
		full = min(backoffBase<<retries, backoffMost)
	}
	return full/2 + rand.N(full/2+1)
}

func asError(err error) (*Error, bool) {
	var e *Error
	ok := errors.As(err, &e)
	return e, ok
}

// policyOf returns how calls of m are tried again.
func policyOf(m config.Model, at string) Policy {
	p := Policy{Model: m.String(), At: at, Retries: 2}
	if m.Retries != nil {
		p.Retries = *m.Retries
	}
	return p
}
