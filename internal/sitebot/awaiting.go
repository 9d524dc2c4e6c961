package sitebot

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"rehearse/internal/graph"
)

// How long the answer waits for each of them. They run side by side, so the time counts from when it began to wait for any: an answer
// never waits for their sum.
const (
	retrievalLimit  = 5 * time.Second
	enrichmentLimit = 2 * time.Second
	profilingLimit  = 4 * time.Second
)

// lastMoment is what an awaiter leaves a task whose time is over: enough to take a result that is there.
const lastMoment = 10 * time.Millisecond

// left returns what is left of a limit, which begins with the first wait of the turn.
func (t *turn) left(limit time.Duration) time.Duration {
	t.waiting.Do(func() { t.waits = time.Now() })
	return max(limit-time.Since(t.waits), lastMoment)
}

// cancelTasks stops what nobody will wait for.
func cancelTasks(ctx context.Context) {
	_ = turnOf(ctx).starting.wait(ctx) // what begins after its end would go on
	retrieval.Cancel(ctx)
	enrichment.Cancel(ctx)
	profiling.Cancel(ctx)
}

// await returns the result of a task, which it waits for no longer than is left of the limit; ok is false when there is no such task.
func await[T any](ctx context.Context, task graph.Task[T], limit time.Duration) (result T, ok bool, err error) {
	t := turnOf(ctx)
	if err := t.starting.wait(ctx); err != nil {
		return result, false, err
	}
	result, err = task.Await(ctx, t.left(limit))
	if errors.Is(err, graph.ErrTaskLate) { // on a busy machine the limit may be over in the moment in which the result is there
		result, err = task.Await(ctx, lastMoment)
	}
	if errors.Is(err, graph.ErrNoTask) {
		return result, false, nil
	}
	return result, true, err
}

// starters is how many nodes start tasks.
const starters = 3

// latch opens when all starters are done. They run beside the analysis, in no order: only the latch tells a task that there is not from one
// that has not begun. Starters only start, so nobody waits for long.
type latch struct {
	left atomic.Int32
	open chan struct{}
}

func newLatch(n int32) *latch {
	l := &latch{open: make(chan struct{})}
	l.left.Store(n)
	return l
}

func (l *latch) done() {
	if l.left.Add(-1) == 0 {
		close(l.open)
	}
}

func (l *latch) wait(ctx context.Context) error {
	select {
	case <-l.open:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
