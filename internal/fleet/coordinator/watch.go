package coordinator

import (
	"context"
	"sync"
	"time"

	"github.com/rehearse-dev/rehearse/internal/run/natsconn"
)

const (
	// beat is the time between two signs of life of a watch, asleep the silence after which the process counts as
	// having been suspended.
	beat   = time.Second
	asleep = 5 * time.Second
	// outage is how long the store may be away without what was due meanwhile being missed.
	outage = time.Minute
)

// watch knows since when this server has been there without a break: neither suspended, nor long without the store. It
// is safe for concurrent use.
type watch struct {
	now func() time.Time

	mu                      sync.Mutex
	alive, reached, present time.Time
}

func newWatch(now func() time.Time) *watch {
	w := &watch{now: now}
	w.alive = w.clock()
	w.reached, w.present = w.alive, w.alive
	return w
}

// clock returns the time without its monotonic part, which stands still in a machine that sleeps.
func (w *watch) clock() time.Time { return w.now().Round(0) }

// run gives signs of life until ctx ends.
func (w *watch) run(ctx context.Context) {
	for natsconn.Pause(ctx, beat) == nil {
		w.mu.Lock()
		w.live()
		w.mu.Unlock()
	}
}

// live notes that the process is alive. The caller holds the lock.
func (w *watch) live() time.Time {
	now := w.clock()
	if now.Sub(w.alive) > asleep {
		w.present = now
	}
	w.alive = now
	return now
}

// since returns since when the server has been there, by the store's clock, which shows at just now, and for how long.
// It is called whenever the store has answered.
func (w *watch) since(at time.Time) (since time.Time, lasted time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.live()
	if now.Sub(w.reached) > outage {
		w.present = now
	}
	w.reached = now
	lasted = now.Sub(w.present)
	return at.Add(-lasted), lasted
}

// done notes that the work on what was found is done, which may have taken long.
func (w *watch) done() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reached = w.live()
}
