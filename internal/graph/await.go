package graph

import (
	"context"
	"fmt"
	"time"
)

// await waits for the task of a kind, on behalf of a node at a step.
func (a *tasks) await(ctx context.Context, kind string, limit time.Duration, step int) (any, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%w after %v", ErrTaskLate, limit))
	defer cancel()
	t, err := a.find(ctx, kind, step)
	if err != nil {
		return nil, err
	}
	select {
	case <-t.done:
	case <-t.ctx.Done():
	case <-ctx.Done():
		if !t.isDone() {
			return nil, context.Cause(ctx)
		}
	}
	return t.result()
}

// find returns the task of a kind, and waits for it as long as a node of an earlier step may still start it.
func (a *tasks) find(ctx context.Context, kind string, step int) (*task, error) {
	for {
		a.mu.Lock()
		t, missing := a.kinds[kind], a.floor >= step
		if t == nil && !missing && a.news == nil {
			a.news = make(chan struct{})
		}
		news := a.news
		a.mu.Unlock()
		switch {
		case t != nil:
			return t, nil
		case missing:
			return nil, ErrNoTask
		}
		select {
		case <-news:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// advance says that no node below a step is at work any more.
func (a *tasks) advance(floor int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if floor != a.floor {
		a.floor = floor
		a.tell()
	}
}

// tell wakes those that wait for a task to be started.
func (a *tasks) tell() {
	if a.news != nil {
		close(a.news)
		a.news = nil
	}
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
