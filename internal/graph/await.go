package graph

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// await waits for the task of a kind, on behalf of a node at a step.
func (a *tasks) await(ctx context.Context, kind string, limit time.Duration, step int) (any, error) {
	if t := a.started(kind); t != nil && t.isDone() { // mostly it is, and then nobody has to watch the time
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

// started returns the task of a kind, nil when there is none yet.
func (a *tasks) started(kind string) *task {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.kinds[kind]
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
