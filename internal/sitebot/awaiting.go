package sitebot

import (
	"context"
	"errors"
	"time"

	"rehearse/internal/graph"
)

// How long the answer waits for each task. The time counts from the first wait of the turn, because the tasks run side by side: an answer
// waits for the longest limit and not for their sum.
const (
	retrievalLimit  = 5 * time.Second
	enrichmentLimit = 2 * time.Second
	profilingLimit  = 4 * time.Second
)

// lastMoment is how long an awaiter waits when its time is over: enough to take a result that is there.
const lastMoment = 10 * time.Millisecond

// left returns what is left of a limit, which begins with the first wait of the turn.
func (t *turn) left(limit time.Duration) time.Duration {
	t.waiting.Do(func() { t.waits = time.Now() })
	return max(limit-time.Since(t.waits), lastMoment)
}

// cancelTasks stops the background tasks of the turn.
func cancelTasks(ctx context.Context) {
	retrieval.Cancel(ctx)
	enrichment.Cancel(ctx)
	profiling.Cancel(ctx)
}

// await waits for a task as long as is left of the limit, and returns its result; ok is false when there is no such task.
func await[T any](ctx context.Context, task graph.Task[T], limit time.Duration) (result T, ok bool, err error) {
	result, err = task.Await(ctx, turnOf(ctx).left(limit))
	if errors.Is(err, graph.ErrNoTask) {
		return result, false, nil
	}
	return result, true, err
}
