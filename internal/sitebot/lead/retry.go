package lead

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
)

const (
	// retries is how often a failed attempt is repeated.
	retries = 3
	// attemptLimit is how long one attempt may take.
	attemptLimit = 10 * time.Second
	backoffBase  = time.Second
	// waitMost is the longest that a receiver may make us wait before the next attempt.
	waitMost = 5 * time.Minute
)

// refusal is an answer that is no success.
type refusal struct {
	status int
	// after is how long the receiver asks to wait; 0 if it does not say.
	after time.Duration
}

func (r *refusal) Error() string {
	text := "status " + strconv.Itoa(r.status)
	switch {
	case r.status/100 == 3:
		return text + ": it redirects; use the address that it redirects to"
	case r.after > waitMost:
		return text + ": it asks to wait " + r.after.String() + ", longer than " + waitMost.String()
	case !r.transient():
		return text + ": check the address, and the secret or key"
	}
	return text
}

func (r *refusal) transient() bool {
	return r.status == http.StatusRequestTimeout || r.status == http.StatusTooManyRequests || r.status >= http.StatusInternalServerError
}

// persist sends a message until it is taken, refused for good, or retries are used up. It returns the number of attempts.
func persist(ctx context.Context, to receiver, m message) (int, error) {
	policy := retrypolicy.NewBuilder[any]().
		HandleIf(func(_ any, err error) bool { return worthwhile(err) }).
		WithMaxRetries(retries).
		WithDelayFunc(func(x failsafe.ExecutionAttempt[any]) time.Duration { return delay(x.LastError(), x.Retries()) }).
		ReturnLastFailure().
		Build()
	attempts := 0
	err := failsafe.With[any](policy).WithContext(ctx).Run(func() error {
		select {
		case to.slots() <- struct{}{}:
			defer func() { <-to.slots() }()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		attempts++
		limited, cancel := context.WithTimeout(ctx, attemptLimit)
		defer cancel()
		return explain(ctx, limited, to.send(limited, m))
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

// worthwhile tells whether trying again can help: after network errors, and where the receiver says so.
func worthwhile(err error) bool {
	r, answered := errors.AsType[*refusal](err)
	return err != nil && (!answered || r.transient() && r.after <= waitMost)
}

// delay is 1, 2, 4 seconds, less up to half so that what failed together does not come back together; but never less than the
// receiver asks for.
func delay(err error, done int) time.Duration {
	if r, ok := errors.AsType[*refusal](err); ok && r.after > 0 {
		return r.after + rand.N(time.Second)
	}
	full := backoffBase << done
	return full/2 + rand.N(full/2+1)
}

// retryAfter reads the header Retry-After: seconds, or a date (RFC 9110, 10.2.3).
func retryAfter(header http.Header, now time.Time) time.Duration {
	value := header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if date, err := http.ParseTime(value); err == nil {
		return max(0, date.Sub(now))
	}
	return 0
}
