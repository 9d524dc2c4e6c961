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

var (
	// ErrNoTask says that no task of a kind was started in the turn.
	ErrNoTask = errors.New("no such task was started in this turn")
	// ErrTaskCancelled says that a task was cancelled; what it has found out does not count.
	ErrTaskCancelled = errors.New("the task was cancelled")
	// ErrTaskLate says that a task was not done within the time that somebody would wait.
	ErrTaskLate = errors.New("the task is not done")
)

// Task is a kind of background work with its result: one node starts it, a later one of the same turn awaits it. A task cannot write
// to the state, and none outlives its turn.
type Task[T any] struct{ kind string }

// NewTask returns a kind of task. Within a graph its name is its own.
func NewTask[T any](kind string) Task[T] { return Task[T]{kind} }

// Start begins the task and returns at once. The ctx is that of a node; the context of the task ends with the turn, not with the node.
// In each turn one task of a kind can be started.
func (k Task[T]) Start(ctx context.Context, work func(ctx context.Context) (T, error)) error {
	all, err := tasksOf(ctx)
	if err != nil {
		return err
	}
	return all.start(k.kind, func(ctx context.Context) (any, error) { return work(ctx) })
}

// Await returns the result of the task, which it waits for no longer than the limit and ctx allow. The error is that of the task,
// ErrNoTask, ErrTaskLate, ErrTaskCancelled, or the cause of ctx.
func (k Task[T]) Await(ctx context.Context, limit time.Duration) (T, error) {
	var none T
	all, err := tasksOf(ctx)
	if err != nil {
		return none, err
	}
	value, err := all.await(ctx, k.kind, limit)
	if err != nil {
		return none, fmt.Errorf("task %q: %w", k.kind, err)
	}
	result, _ := value.(T) // nil is no T when T is an interface
	return result, nil
}

// Cancel tells the task to stop and throws its result away. It does not wait, and does nothing when there is no such task.
func (k Task[T]) Cancel(ctx context.Context) {
	if all, err := tasksOf(ctx); err == nil {
		all.cancel(k.kind)
	}
}

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
		t.err = try(a.log, "task "+kind, func() (err error) {
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
	if t.ctx.Err() != nil {
		return nil, context.Cause(t.ctx)
	}
	return t.value, t.err
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
		select {
		case <-t.done:
			continue
		default:
		}
		select {
		case <-t.done:
		case <-late.C:
			a.log.Warn("a task did not stop when it was told to", "thread", a.thread, "turn", a.turn, "task", kind)
			late.Reset(0)
		}
	}
}
