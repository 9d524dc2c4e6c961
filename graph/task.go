package graph

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

var (
	// ErrNoTask says that no task of a kind was started in the turn.
	ErrNoTask = errors.New("no such task was started in this turn")
	// ErrTaskCancelled says that a task was cancelled; its result does not count.
	ErrTaskCancelled = errors.New("the task was cancelled")
	// ErrTaskLate says that a task was not done within the limit of Await.
	ErrTaskLate = errors.New("the task is not done")
)

// Task is a kind of background work with its result: one node starts it, another of the same turn awaits it, at a later
// step or after it. A task cannot write to the state, and none outlives its turn.
type Task[T any] struct{ kind string }

// NewTask returns a kind of task. Its name is unique within a graph.
func NewTask[T any](kind string) Task[T] { return Task[T]{kind} }

// Start begins the task and returns at once. The ctx is that of a node; the context of the task ends with the turn, not
// with the node. In each turn one task of a kind can be started. When the kind was cancelled before, Start does
// nothing.
func (k Task[T]) Start(ctx context.Context, work func(ctx context.Context) (T, error)) error {
	at, err := positionOf(ctx)
	if err != nil {
		return err
	}
	return at.tasks.start(at, k.kind, func(ctx context.Context) (any, error) { return work(ctx) })
}

// Await returns the result of the task, for which it waits no longer than the limit and ctx allow. A task that was not
// started is missing only when all nodes of earlier steps have finished, because any of them may start it. The error is
// that of the task, ErrNoTask, ErrTaskLate, ErrTaskCancelled, or the cause of ctx.
func (k Task[T]) Await(ctx context.Context, limit time.Duration) (T, error) {
	var none T
	at, err := positionOf(ctx)
	if err != nil {
		return none, err
	}
	value, err := at.tasks.await(ctx, k.kind, limit, at.visit.Step)
	if err != nil {
		return none, fmt.Errorf("task %q: %w", k.kind, err)
	}
	result, _ := value.(T) // nil is no T when T is an interface
	return result, nil
}

// Started waits until the task was started; ErrNoTask says that all nodes of earlier steps have finished and none has
// started it. Whether a task that is cancelled behind it was ever at work does not depend on who is faster.
func (k Task[T]) Started(ctx context.Context) error {
	at, err := positionOf(ctx)
	if err == nil {
		_, err = at.tasks.find(ctx, k.kind, at.visit.Step)
	}
	return err
}

// Cancel tells the task to stop, without waiting for it, and drops its result. For the rest of the turn there is no
// task of the kind, even if it was not started yet.
func (k Task[T]) Cancel(ctx context.Context) {
	if at, err := positionOf(ctx); err == nil && !at.ghost {
		at.noteCancelled(k.kind)
		at.tasks.cancel(k.kind)
	}
}

// tasks are those of one turn.
type tasks struct {
	ctx    context.Context // of the turn
	thread string
	turn   int
	log    *slog.Logger
	count  *atomic.Int64 // of the tasks at work in the graph
	mu     sync.Mutex
	kinds  map[string]*task // nil once the turn is over
	// the lowest step of a running node: tasks of earlier steps have been started
	lowest int
	// by kind: runs the node of an earlier attempt at the turn that has started it
	asleep map[string]func(context.Context) error
	waking map[string]bool // the kinds for which that is under way
	// closed when a task was started or lowest has changed; nil when nobody waits
	news chan struct{}
}

// task is one that was started or, with a done context, one that will not be.
type task struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	by     *position // of the node that has started it
	done   chan struct{}
	value  any
	err    error
}

func newTasks(ctx context.Context, thread string, turn int, log *slog.Logger, count *atomic.Int64) *tasks {
	return &tasks{ctx: ctx, thread: thread, turn: turn, log: log, count: count, kinds: map[string]*task{}}
}

func (a *tasks) start(at *position, kind string, work func(context.Context) (any, error)) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch before := a.kinds[kind]; {
	case a.kinds == nil:
		return fmt.Errorf("task %q: the turn is over", kind)
	case before != nil && before.ctx.Err() != nil:
		return nil
	case before != nil &&
		(at.ghost || at.item < 0 && before.by != at && before.by != nil && before.by.visit == at.visit):
		// an earlier attempt
		return nil
	case before != nil:
		return fmt.Errorf("task %q: there is one in this turn already", kind)
	}
	t := a.add(kind)
	t.by = at
	delete(a.asleep, kind)
	a.count.Add(1)
	go func() {
		growStack()
		defer close(t.done)
		defer a.count.Add(-1)
		t.err = try(t.ctx, a.log, "task", kind, func() (err error) {
			t.value, err = work(t.ctx)
			return err
		})
	}()
	return nil
}

// add registers a task and wakes those that wait for it.
func (a *tasks) add(kind string) *task {
	t := &task{done: make(chan struct{}), err: errGone}
	t.ctx, t.cancel = context.WithCancelCause(a.ctx)
	a.kinds[kind] = t
	a.wake()
	return t
}

func (a *tasks) cancel(kind string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.kinds[kind]
	switch {
	case a.kinds == nil:
		return
	case t == nil:
		delete(a.asleep, kind)
		t = a.add(kind)
		close(t.done)
	}
	t.cancel(ErrTaskCancelled)
}

// await waits for the task of a kind, on behalf of a node at a step.
func (a *tasks) await(ctx context.Context, kind string, limit time.Duration, step int) (any, error) {
	switch t, err := a.look(kind, step); { // the usual cases need no timer
	case err != nil:
		return nil, err
	case t != nil && t.isDone():
		return t.result()
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, ErrTaskLate)
	defer cancel()
	t, err := a.find(ctx, kind, step)
	if err == nil {
		select {
		case <-t.done:
		case <-t.ctx.Done():
		case <-ctx.Done():
			if !t.isDone() {
				err = context.Cause(ctx)
			}
		}
	}
	switch {
	case errors.Is(err, ErrTaskLate):
		return nil, fmt.Errorf("%w after %v", ErrTaskLate, limit)
	case err != nil:
		return nil, err
	}
	return t.result()
}

// look returns the task of a kind; nil when there is none yet, with ErrNoTask when no node of an earlier step may still
// start it.
func (a *tasks) look(kind string, step int) (*task, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.kinds[kind]
	if t == nil && !a.rouse(kind) && a.lowest >= step {
		return nil, ErrNoTask
	}
	return t, nil
}

// find returns the task of a kind, and waits for it as long as a node of an earlier step may still start it.
func (a *tasks) find(ctx context.Context, kind string, step int) (*task, error) {
	for {
		news := a.change()
		if t, err := a.look(kind, step); t != nil || err != nil {
			return t, err
		}
		select {
		case <-news:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// change returns what is closed when a task was started or lowest has changed.
func (a *tasks) change() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.news == nil {
		a.news = make(chan struct{})
	}
	return a.news
}

// startedBy returns the kinds that a visit has started, by name.
func (a *tasks) startedBy(v *Visit) (kinds []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for kind, t := range a.kinds {
		if t.by != nil && t.by.visit == v {
			kinds = append(kinds, kind)
		}
	}
	slices.Sort(kinds)
	return kinds
}

// sleep notes that a node that is not run has started a task in an earlier attempt at the turn. The task begins anew
// when it is awaited.
func (a *tasks) sleep(kind string, wake func(context.Context) error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.kinds == nil || a.kinds[kind] != nil {
		return
	}
	if a.asleep == nil {
		a.asleep, a.waking = map[string]func(context.Context) error{}, map[string]bool{}
	}
	a.asleep[kind] = wake
	a.wake()
}

// rouse begins a task anew that sleeps, and reports whether it may still come.
func (a *tasks) rouse(kind string) bool {
	run := a.asleep[kind]
	if run == nil || a.kinds == nil {
		return a.waking[kind]
	}
	delete(a.asleep, kind)
	a.waking[kind] = true
	node := a.add("node of " + kind + "\x00") // as a task, so that the end of the turn waits for it
	go func() {
		defer close(node.done)
		defer func() {
			a.mu.Lock()
			defer a.mu.Unlock()
			delete(a.waking, kind)
			a.wake()
		}()
		node.err = try(node.ctx, a.log, "task", kind, func() error { return run(node.ctx) })
	}()
	return true
}

// advance sets the lowest step at which a node is running.
func (a *tasks) advance(lowest int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if lowest != a.lowest {
		a.lowest = lowest
		a.wake()
	}
}

// wake wakes those that wait in find.
func (a *tasks) wake() {
	if a.news != nil {
		close(a.news)
		a.news = nil
	}
}

// stop cancels the tasks that are left and waits for them. One that does not return within the grace is left behind,
// and its result is lost.
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
	maps.DeleteFunc(left, func(_ string, t *task) bool { return t.isDone() })
	if len(left) == 0 {
		return
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

// result returns what the work has returned, unless the task was cancelled.
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
