package replay

import (
	"context"
	"iter"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/retry"
)

// storeRetries lets a store be away for half a minute, such as while its server restarts, before a run gives up.
func storeRetries() retry.Policy {
	return retry.Policy{Retries: retry.Unlimited, For: 30 * time.Second}
}

// retryWrite writes to a store until it has been done, for as long as the store may be away.
func retryWrite(ctx context.Context, write func(context.Context) error) error {
	_, _, err := retry.Do(ctx, storeRetries(), func(ctx context.Context) (struct{}, error) {
		return struct{}{}, write(ctx)
	})
	return err
}

// resumingIterator yields events like Each of a store, but begins again behind the last event when the store goes away,
// and gives up when nothing more has come for as long as storeAway lasts.
func resumingIterator(ctx context.Context, events Events, f Filter) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		var session string // that of the last event, of which so many were yielded
		yielded := 0
		for more := true; more; {
			var err error
			// Reading takes the outer context: the policy's time is for a store that is away, not for a long log.
			more, _, err = retry.Do(ctx, storeRetries(), func(context.Context) (bool, error) {
				progress, known := false, yielded
				for e, err := range events.Each(ctx, f) {
					switch {
					case err != nil && progress:
						return true, nil // the store was there, so its time to be away begins anew
					case err != nil:
						return false, err
					case e.SessionID < session:
						continue
					case e.SessionID == session && known > 0:
						known--
						continue
					}
					if e.SessionID != session {
						session, yielded = e.SessionID, 0
					}
					yielded++
					progress, known = true, 0
					if !yield(e, nil) {
						return false, nil
					}
				}
				return false, nil
			})
			if err != nil {
				yield(Event{}, err)
				return
			}
		}
	}
}
