package llm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/failsafe-go/failsafe-go/circuitbreaker"
)

const (
	// After breakAfter calls in a row for which nobody was there, further calls fail at once for breakFor.
	breakAfter = 5
	breakFor   = 10 * time.Second
)

// Breaker makes calls of one address fail at once while nobody is there. It counts whole calls, after their retries. If
// it counted attempts, a hiccup during many concurrent calls would end them all, although their next attempts succeed.
// It is safe for concurrent use.
type Breaker struct {
	circuit circuitbreaker.CircuitBreaker[any]
}

// NewBreaker returns a breaker that lets calls through.
func NewBreaker() *Breaker {
	return &Breaker{circuitbreaker.NewBuilder[any]().
		WithFailureThreshold(breakAfter).
		WithSuccessThreshold(1).
		WithDelay(breakFor).
		Build()}
}

// Begin asks for a call, and returns the error with which it is not made: ErrBreaker, wrapped. Whoever may call says
// with End whether nobody was there.
func (breaker *Breaker) Begin() error {
	if breaker.circuit.TryAcquirePermit() {
		return nil
	}
	return fmt.Errorf("%w (next try in %s)", ErrBreaker, breaker.circuit.RemainingDelay().Round(time.Second))
}

// ErrBreaker says that a call is not made because nobody was there for the last ones.
var ErrBreaker = fmt.Errorf("was unreachable %d times in a row, so it is not asked for now", breakAfter)

// End says how a call that Begin has let through ended: nobody was there, or its caller left before that was known.
func (breaker *Breaker) End(unreachable, left bool) {
	switch {
	case left:
		breaker.gaveUp()
	case unreachable:
		breaker.circuit.RecordFailure()
	default:
		breaker.circuit.RecordSuccess()
	}
}

// gaveUp notes a call whose caller left, which says nothing; but a trial call has to give its place back.
func (breaker *Breaker) gaveUp() {
	if breaker.circuit.IsHalfOpen() {
		breaker.circuit.RecordFailure()
	}
}

// record tells the breaker how a call ended. Any answer, also a refusal or one that broke off, shows that somebody is
// there.
func (breaker *Breaker) record(err error) {
	b := breaker.circuit
	e, ok := asError(err)
	switch {
	case ok && e.Fault == Unreachable && !brokeOff(e):
		b.RecordFailure()
	case !ok && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)):
		breaker.gaveUp()
	default:
		b.RecordSuccess()
	}
}

// breakerOpen is the error of a call that is not made because the model was unreachable too often.
func (r *retrier[T]) breakerOpen() *Error {
	wait := r.breaker.circuit.RemainingDelay().Round(time.Second)
	return &Error{
		Fault: Unreachable, Model: r.policy.Model, At: r.policy.At,
		Message: ErrBreaker.Error(),
		Hint:    fmt.Sprintf("is the server running? the next try is possible in %s", wait),
		Err:     circuitbreaker.ErrOpen,
	}
}
