package replay

import (
	"cmp"
	"context"
	"iter"
	"strings"
	"time"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/retrypolicy"

	"rehearse/internal/llm"
)

// patience is how long a store may be away, such as while its server restarts, before a run gives up.
const patience = 30 * time.Second

// insist writes to a store until it has been done, for as long as patience lasts.
func insist(ctx context.Context, write func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	policy := retrypolicy.NewBuilder[any]().WithMaxRetries(-1).WithBackoff(200*time.Millisecond, 5*time.Second).ReturnLastFailure().Build()
	var last error
	err := failsafe.With(policy).WithContext(ctx).Run(func() error {
		if failed := write(ctx); failed != nil {
			if ctx.Err() == nil { // else it says no more than that time is up
				last = failed
			}
			return failed
		}
		last = nil
		return nil
	})
	if err != nil && last != nil {
		return last
	}
	return err
}

// insistent yields events like Each of a store, but begins again behind the last event when the store goes away, and gives up when it has
// been away for as long as patience lasts.
func insistent(ctx context.Context, events Events, f Filter) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		var last Event // the zero value comes before all
		var failing time.Time
		for {
			failed := error(nil)
			for e, err := range events.Each(ctx, f) {
				if err != nil {
					failed = err
					break
				}
				if !behind(&e, &last) {
					continue
				}
				last, failing = e, time.Time{}
				if !yield(e, nil) {
					return
				}
			}
			if failed == nil {
				return
			}
			if failing.IsZero() {
				failing = time.Now()
			}
			if ctx.Err() != nil || time.Since(failing) > patience || llm.Sleep(ctx, time.Second) != nil {
				yield(Event{}, failed)
				return
			}
		}
	}
}

// behind reports whether an event comes after another in the order of Each.
func behind(e, last *Event) bool {
	return cmp.Or(strings.Compare(e.SessionID, last.SessionID), e.Time.Compare(last.Time), strings.Compare(e.ID, last.ID)) > 0
}
