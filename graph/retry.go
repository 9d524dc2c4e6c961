package graph

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// RetryPolicy says how often a node is tried, and how long after a failure. Zero values are the defaults.
type RetryPolicy struct {
	Attempts int           // with the first; 3 by default
	Base     time.Duration // the pause after the first attempt; 500 ms by default
	Max      time.Duration // the longest pause; 30 s by default
	Factor   float64       // by which each pause is longer than the one before; 2 by default
	Jitter   bool          // takes up to a half off each pause, at random
	// If says which errors are worth another attempt. Nil means every error but those of contexts; an attempt that has
	// run out of its Limit is worth another. A node that was interrupted is never tried again.
	If func(error) bool
}

func (p RetryPolicy) filled() RetryPolicy {
	if p.Attempts == 0 {
		p.Attempts = 3
	}
	if p.Base == 0 {
		p.Base = 500 * time.Millisecond
	}
	if p.Max == 0 {
		p.Max = 30 * time.Second
	}
	if p.Factor == 0 {
		p.Factor = 2
	}
	return p
}

func (p RetryPolicy) fault() error {
	if p.Attempts < 0 || p.Base < 0 || p.Max < 0 || p.Factor < 1 || math.IsNaN(p.Factor) {
		return fmt.Errorf("a policy of %d attempts, pauses of %v to %v and the factor %v: give none below 0, "+
			"and a factor of at least 1", p.Attempts, p.Base, p.Max, p.Factor)
	}
	return nil
}

// pause returns the time between an attempt, from 1, and the next.
func (p RetryPolicy) pause(attempt int) time.Duration {
	d := float64(p.Base) * math.Pow(p.Factor, float64(attempt-1))
	d = min(d, float64(p.Max))
	if p.Jitter {
		d *= 1 - rand.Float64()/2
	}
	return time.Duration(d)
}

// Retry makes a node that fails be tried again. Limit bounds each attempt, and OrElse comes after the last. A streaming
// node is not tried again once it has written. An Observer is told of each attempt.
func (n *Node[S]) Retry(p RetryPolicy) *Node[S] {
	p = p.filled()
	n.retry = &p
	return n
}

// again waits for the next attempt of a visit and opens it; false says that the failure stays.
func (v *visit[S]) again(t *turn[S], err error) bool {
	p := v.node.retry
	if p == nil || v.info.Attempt >= p.Attempts || !v.worth(t, err) {
		return false
	}
	pause := p.pause(v.info.Attempt)
	if !v.rest(t, err, pause) {
		return false
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.ctx.Done():
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if v.finished || t.err != nil {
		return false
	}
	v.info.Attempt++
	v.open(t)
	t.wakeAt(v.due)
	return true
}

// worth reports whether a failure is worth another attempt.
func (v *visit[S]) worth(t *turn[S], err error) bool {
	if t.ctx.Err() != nil || errors.Is(err, ErrInterrupted) || v.out != nil && v.out.wrote() {
		return false
	}
	late := errors.Is(err, errLate)
	if v.node.retry.If == nil {
		return late || !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
	}
	worth := false
	if failed := try(v.ctx, t.activeRun.log, "retry", v.node.name, func() error {
		worth = v.node.retry.If(err)
		return nil
	}); failed != nil {
		return false
	}
	return worth
}

// rest ends an attempt; false says that the visit is over.
func (v *visit[S]) rest(t *turn[S], err error, pause time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if v.finished || t.err != nil {
		return false
	}
	v.ctx.at.settled.Store(true)
	v.cancel(nil)
	if v.out != nil {
		v.out.close()
	}
	t.told(v, err, false)
	v.late = false
	v.due = time.Now().Add(pause + v.node.limit) // the timer has nothing to do before the next attempt
	return true
}
