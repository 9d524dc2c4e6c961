// Package limit keeps the visitors of sites within what a site allows: messages a minute of each address and of the
// site, turns under way, and what a day may use of models. What it counts lies in a Store that several processes share.
package limit

import (
	"context"
	"time"
)

// Bucket is a token bucket. It is full at first, and fills up again at a steady pace.
type Bucket struct {
	// Name tells it from all others of a store.
	Name string
	// Every is the time in which one token comes back, Burst how many it holds.
	Every time.Duration
	Burst int
}

// Spent is what the turns of a site have used in a day.
type Spent struct {
	Tokens  int64
	CostUSD float64
}

// Store keeps buckets and budgets. Implementations are safe for concurrent use, and for several processes on one store.
// Times come from the caller.
type Store interface {
	// Acquire takes a token from each of the buckets, or none from any. Empty is the place of the first bucket that has
	// none, and wait how long until it has one; empty is -1 when all gave theirs.
	Acquire(ctx context.Context, now time.Time, buckets ...Bucket) (empty int, wait time.Duration, err error)
	// Spend adds to what a site has used on a day, such as 2026-03-01.
	Spend(ctx context.Context, site, day string, s Spent) error
	// Spent returns what a site has used on a day.
	Spent(ctx context.Context, site, day string) (Spent, error)
	// Salt returns a random text that all processes on the store share; the first that asks makes it.
	Salt(ctx context.Context) (string, error)
}

// SpentRetention is how long what was used on a day is kept, at least.
const SpentRetention = 72 * time.Hour

// RetainedSince returns the first day that is kept when something is spent on a day: KeepSpent before it. It is empty,
// which is before all days, for what is no day.
func RetainedSince(day string) string {
	at, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return ""
	}
	return at.Add(-SpentRetention).Format(time.DateOnly)
}

// taken returns until when a bucket is used up if one more token is taken, by the generic cell rate algorithm: "until"
// is the moment at which it is full again, and one that is full was full all along. Wait is above 0 when it has no
// token.
func (b Bucket) taken(now, until time.Time) (next time.Time, wait time.Duration) {
	if until.Before(now) {
		until = now
	}
	next = until.Add(b.Every)
	if wait = next.Sub(now) - time.Duration(b.Burst)*b.Every; wait > 0 {
		return until, wait
	}
	return next, 0
}

// Acquire is what implementations count with: a bucket is kept as the moment at which it is full again, in microseconds
// since 1970, which is 0 for one that is not kept. It returns the new moment, and a wait above 0 when there is no
// token.
func (b Bucket) Acquire(now time.Time, until int64) (next int64, wait time.Duration) {
	moment, wait := b.taken(now.Truncate(time.Microsecond), time.UnixMicro(until))
	return moment.UnixMicro(), wait
}
