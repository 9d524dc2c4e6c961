package graph

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// tasks are those of one turn.
type tasks struct {
	ctx    context.Context // of the turn
	thread string
	turn   int
	log    *slog.Logger
	count  *atomic.Int64 // of the graph
	mu     sync.Mutex
	kinds  map[string]*task // nil once the turn is over
}

type task struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	done   chan struct{}
	value  any
	err    error
}

type tasksKey struct{}

func tasksOf(ctx context.Context) (*tasks, error) {
	if all, ok := ctx.Value(tasksKey{}).(*tasks); ok {
		return all, nil
	}
	return nil, errors.New("tasks belong to turns: use the context that the node was given")
}

func newTasks(ctx context.Context, thread string, turn int, log *slog.Logger, count *atomic.Int64) *tasks {
	return &tasks{ctx: ctx, thread: thread, turn: turn, log: log, count: count, kinds: map[string]*task{}}
}

func (a *tasks) start(kind string, work func(context.Context) (any, error)) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.kinds == nil {
		return fmt.Errorf("task %q: the turn is over", kind)
	}
	if a.kinds[kind] != nil {
		return fmt.Errorf("task %q: there is one in this turn already", kind)
	}
	t := &task{done: make(chan struct{}), err: errGone}
	t.ctx, t.cancel = context.WithCancelCause(a.ctx)
	a.kinds[kind] = t
	a.count.Add(1)
	go func() {
		defer close(t.done)
		defer a.count.Add(-1)
		t.err = try(a.log, "task", kind, func() (err error) {
			t.value, err = work(t.ctx)
			return err
		})
	}()
	return nil
}

func (a *tasks) await(ctx context.Context, kind string, limit time.Duration) (any, error) {
	a.mu.Lock()
	t := a.kinds[kind]
	a.mu.Unlock()
	if t == nil {
		return nil, ErrNoTask
	}
	if !t.isDone() {
		late := time.NewTimer(limit)
		defer late.Stop()
		select {
		case <-t.done:
		case <-t.ctx.Done():
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-late.C:
			return nil, fmt.Errorf("%w after %v", ErrTaskLate, limit)
		}
	}
	return t.result()
}

// result returns what a task has found out, unless it was cancelled.
func (t *task) result() (any, error) {
	if t.ctx.Err() != nil {
		return nil, context.Cause(t.ctx)
	}
	return t.value, t.err
}

func (t *task) isDone() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}

func (a *tasks) cancel(kind string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if t := a.kinds[kind]; t != nil {
		t.cancel(ErrTaskCancelled)
	}
}

// stop cancels what is left and waits for it. A task that does not return within the grace is left behind: nobody awaits it any more.
func (a *tasks) stop() {
	a.mu.Lock()
	left := a.kinds
	a.kinds = nil
	a.mu.Unlock()
	if len(left) == 0 {
		return
	}
	for _, t := range left {
		t.cancel(ErrTaskCancelled)
	}
	late := time.NewTimer(grace)
	defer late.Stop()
	for kind, t := range left {
		if t.isDone() {
			continue
		}
		select {
		case <-t.done:
		case <-late.C:
			a.log.Warn("a task did not stop when it was told to", "thread", a.thread, "turn", a.turn, "task", kind)
			late.Reset(0)
		}
	}
}
