package access

import (
	"sync"
	"time"
)

// maxBuckets bounds how many senders are told apart at once, which takes about 10 MB.
const maxBuckets = 100_000

// Rate bounds the requests of each sender by a token bucket (https://en.wikipedia.org/wiki/Token_bucket) that holds two
// seconds' worth. It is safe for concurrent use. Use NewRate.
type Rate struct {
	perSecond float64
	now       func() time.Time

	mu      sync.Mutex
	buckets map[string]bucket
	swept   time.Time
	// rest is shared by new senders while there is no room for their own buckets.
	rest bucket
}

// bucket has what a sender may still send, as of a time.
type bucket struct {
	left float64
	at   time.Time
}

// NewRate returns a bound of so many requests a second. A nil now means time.Now.
func NewRate(perSecond int, now func() time.Time) *Rate {
	if now == nil {
		now = time.Now
	}
	return &Rate{perSecond: float64(perSecond), now: now, buckets: map[string]bucket{}}
}

// Acquire counts a request of a sender. It returns 0 if the sender may make it, else how long to wait.
func (r *Rate) Acquire(sender string) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	b, known := r.buckets[sender]
	switch {
	case known:
	case len(r.buckets) < maxBuckets || r.sweep(now):
		b = bucket{2 * r.perSecond, now}
	default:
		return r.rest.take(now, r.perSecond)
	}
	wait := b.take(now, r.perSecond)
	r.buckets[sender] = b
	return wait
}

// take takes one request out of a bucket, which fills up with time. A bucket that was never used is full.
func (b *bucket) take(now time.Time, perSecond float64) time.Duration {
	b.left = min(2*perSecond, b.left+max(0, now.Sub(b.at).Seconds())*perSecond)
	b.at = now
	if b.left < 1 {
		return time.Duration((1 - b.left) / perSecond * float64(time.Second))
	}
	b.left--
	return 0
}

// sweep drops the buckets that are full again, at most once a second: they are as new ones. It reports whether there is
// room.
func (r *Rate) sweep(now time.Time) bool {
	if now.Sub(r.swept) < time.Second {
		return false
	}
	r.swept = now
	for sender, b := range r.buckets {
		if b.left+now.Sub(b.at).Seconds()*r.perSecond >= 2*r.perSecond {
			delete(r.buckets, sender)
		}
	}
	return len(r.buckets) < maxBuckets
}
