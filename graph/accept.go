package graph

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// finish ends a visit with what its node has returned: the update or that of the fallback is accepted, the visit waits,
// or the turn fails.
func (t *turn[S]) finish(v *visit[S], u Update[S], err error) error {
	u, settled, err := t.settle(v, u, err)
	if err != nil || !settled {
		return err
	}
	return t.accepted(v, u)
}

// settle closes a visit and returns its update, which is that of the fallback when the node has failed. Without an
// error and unsettled the visit waits for an answer.
func (t *turn[S]) settle(v *visit[S], u Update[S], err error) (_ Update[S], settled bool, _ error) {
	if t.ctx.Err() != nil {
		t.close(v, context.Cause(t.ctx), false)
		return nil, false, t.cancelled()
	}
	if q, passed := v.ctx.at.waiting(err); q != nil || passed {
		t.close(v, err, false)
		t.park(v)
		if q != nil {
			t.activeRun.ask(q)
		}
		return nil, false, nil
	}
	fallback := v.node.fallback
	if err != nil {
		t.activeRun.forget(v.info.Node, v.ctx.at.at()) // the questions of its items and subgraphs
	}
	t.close(v, err, err != nil && fallback != nil)
	switch {
	case err != nil && fallback == nil:
		return nil, false, &NodeError{v.node.name, err}
	case err != nil:
		v.fell = true
		if changed := t.g.schema.lend(v.view, func(s S) { u = slices.Clone(fallback(s, err)) }); changed != nil {
			return nil, false, &NodeError{v.node.name, changed}
		}
		if t.g.warn != nil {
			u = append(u, t.g.warn(v.node.name, err))
		}
	}
	return u, true, nil
}

// park sets a visit aside that waits for an answer: what it can lead to does not begin.
func (t *turn[S]) park(v *visit[S]) {
	t.parked++
	t.running.add(v.node.index)
}

// accepted accepts an update of a visit.
func (t *turn[S]) accepted(v *visit[S], u Update[S]) error {
	if err := t.accept(v, u); err != nil {
		return &NodeError{v.node.name, err}
	}
	return nil
}

// close takes from a visit every way to write, and tells the observer of its end.
func (t *turn[S]) close(v *visit[S], err error, fellBack bool) {
	if v.finished {
		return
	}
	v.finished = true
	v.ctx.at.settled.Store(true)
	v.cancel(nil)
	if v.out != nil {
		v.out.close()
	}
	t.running.remove(v.node.index)
	t.active--
	t.told(v, err, fellBack)
}

// told tells the observer that an attempt has ended.
func (t *turn[S]) told(v *visit[S], err error, fellBack bool) {
	if !v.told {
		return
	}
	v.told = false
	v.info.Duration, v.info.Err, v.info.FellBack = time.Since(v.info.Began), err, fellBack
	t.activeRun.observing.Lock()
	defer t.activeRun.observing.Unlock()
	_ = try(v.ctx, t.activeRun.log, "observer", v.info.Node, func() error {
		t.activeRun.observer.NodeEnded(v.ctx, v.info)
		return nil
	})
	v.info.Duration, v.info.Err = 0, nil
}

// accept takes the update of a visit, which it may change, and leads on to the next nodes.
func (t *turn[S]) accept(v *visit[S], u Update[S]) error {
	u, err := t.g.schema.checked(u)
	if err != nil {
		return err
	}
	for _, w := range u {
		if err := t.claim(v, w.column()); err != nil {
			return err
		}
	}
	v.finished, v.accepted, v.writes = true, true, u
	next, err := t.next(v)
	for _, to := range next {
		if to != end {
			t.arrivals[to] = append(t.arrivals[to], v)
			t.waiting.add(to)
		}
	}
	return err
}

// claim makes a visit the last writer of a field. Where a field has no Merge, the writer before must have led to this
// visit.
func (t *turn[S]) claim(v *visit[S], c Column[S]) error {
	a := c.about()
	if !a.single {
		return nil
	}
	if w := t.writers[a.number]; w == v {
		return fmt.Errorf("%w: node %q writes field %q twice: write it once", ErrTwoWriters, v.node.name, a.name)
	} else if w != nil && !v.past.has(w.number) {
		return fmt.Errorf("%w: nodes %q and %q run side by side and write field %q: let one lead to the other, "+
			"or declare the field with Merge", ErrTwoWriters, min(w.node.name, v.node.name),
			max(w.node.name, v.node.name), a.name)
	}
	t.writers[a.number] = v
	return nil
}
