package graph

import (
	"context"
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
	floor  int              // the lowest step at which a node is at work
	news   chan struct{}    // closed when a task was started or the floor has risen; nil when nobody waits for that
}

type task struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	done   chan struct{}
	value  any
	err    error
}

func newTasks(ctx context.Context, thread string, turn int, log *slog.Logger, count *atomic.Int64) *tasks {
	return &tasks{ctx: ctx, thread: thread, turn: turn, log: log, count: count, kinds: map[string]*task{}}
}

func (a *tasks) start(kind string, work func(context.Context) (any, error)) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch before := a.kinds[kind]; {
	case a.kinds == nil:
		return fmt.Errorf("task %q: the turn is over", kind)
	case before != nil && before.ctx.Err() != nil:
		return nil
	case before != nil:
		return fmt.Errorf("task %q: there is one in this turn already", kind)
	}
	t := a.add(kind)
	a.count.Add(1)
	a.tell()
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

func (a *tasks) add(kind string) *task {
	t := &task{done: make(chan struct{}), err: errGone}
	t.ctx, t.cancel = context.WithCancelCause(a.ctx)
	a.kinds[kind] = t
	return t
}

func (a *tasks) cancel(kind string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.kinds[kind]
	switch {
	case a.kinds == nil:
		return
	case t == nil: // it stands for the one that will not be started
		t = a.add(kind)
		close(t.done)
		a.tell()
	}
	t.cancel(ErrTaskCancelled)
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
