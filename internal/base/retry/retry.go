// Package retry repeats operations that failed and may succeed on another attempt: calls of endpoints, writes to a
// store that is away. It has the program's one policy of waiting between attempts, and the one reading of what a server
// asks to wait (After).
package retry

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
)

// Unlimited as Policy.Retries sets no bound to the number of retries.
const Unlimited = -1

// The waits of a Policy that names none.
const (
	defaultFirst    = 200 * time.Millisecond
	defaultLongest  = 10 * time.Second
	defaultMaxAfter = time.Minute
)

// Policy says what is tried again, how often, and after which waits. The zero value never tries again. A Policy is a
// plain value: it may be copied and shared among goroutines.
//
// The wait before a retry is First, doubled with each further one up to Longest. A random part of up to a half is taken
// off, so that operations which failed together do not come back together. Where the other side says how long to wait
// (After), that time and up to a tenth more is waited instead.
type Policy struct {
	// Retries is how often a failed operation is tried again; Unlimited means until For or the context ends.
	Retries int
	// First and Longest bound the waits; 0 means 200 ms and 10 s.
	First, Longest time.Duration
	// For bounds all attempts and waits together; 0 means no bound but the context's.
	For time.Duration
	// Transient reports whether another attempt after this error may help; nil means always.
	Transient func(error) bool
	// After returns how long the other side asks to wait, 0 where it does not say; nil means that it never does.
	After func(error) time.Duration
	// MaxAfter is the longest time that the other side may ask for; 0 means a minute. An error that asks for more is
	// final.
	MaxAfter time.Duration
}

// Do calls op until it succeeds, its error is final, or the policy's bounds are reached. It returns what the last
// attempt returned, and how many attempts there were. Op gets a context that also ends after Policy.For.
//
// When ctx ends, the error is ctx's own, except that a last attempt which succeeded nevertheless is a success. When
// Policy.For ends, the error is the last one that op returned before that.
func Do[T any](ctx context.Context, p Policy, op func(context.Context) (T, error)) (value T, attempts int, err error) {
	if ctx.Err() != nil {
		return value, 0, ctx.Err()
	}
	bounded, cancel := ctx, context.CancelFunc(func() {})
	if p.For > 0 {
		bounded, cancel = context.WithTimeout(ctx, p.For)
	}
	defer cancel()
	var last, inTime error
	err = failsafe.With(p.build()).WithContext(bounded).Run(func() error {
		attempts++
		value, last = op(bounded)
		if bounded.Err() == nil {
			inTime = last
		}
		return last
	})
	switch {
	case attempts > 0 && last == nil:
		return value, attempts, nil
	case ctx.Err() != nil:
		return value, attempts, ctx.Err()
	case bounded.Err() != nil && inTime != nil:
		return value, attempts, inTime
	}
	return value, attempts, err
}

func (p Policy) build() retrypolicy.RetryPolicy[any] {
	return retrypolicy.NewBuilder[any]().
		HandleIf(func(_ any, err error) bool { return err != nil && p.transient(err) }).
		WithMaxRetries(max(Unlimited, p.Retries)).
		WithDelayFunc(func(x failsafe.ExecutionAttempt[any]) time.Duration {
			return p.wait(x.LastError(), x.Retries())
		}).
		ReturnLastFailure().
		Build()
}

func (p Policy) transient(err error) bool {
	return (p.Transient == nil || p.Transient(err)) && p.after(err) <= orDefault(p.MaxAfter, defaultMaxAfter)
}

func (p Policy) after(err error) time.Duration {
	if p.After == nil {
		return 0
	}
	return p.After(err)
}

// wait returns the time before the next attempt; retries is how many there were before it.
func (p Policy) wait(err error, retries int) time.Duration {
	if asked := p.after(err); asked > 0 {
		return asked + rand.N(asked/10+1)
	}
	longest := orDefault(p.Longest, defaultLongest)
	full := min(orDefault(p.First, defaultFirst), longest)
	for range retries {
		if full >= longest {
			break
		}
		full = min(2*full, longest)
	}
	return full/2 + rand.N(full/2+1)
}

func orDefault(d, standard time.Duration) time.Duration {
	if d <= 0 {
		return standard
	}
	return d
}
