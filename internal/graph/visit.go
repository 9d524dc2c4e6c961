package graph

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"rehearse/internal/source"
)

var (
	// ErrFinished is what a streaming node gets that writes after its end.
	ErrFinished = errors.New("the node has finished: it cannot write any more")
	// ErrChanged says that a node has changed its snapshot. Only a guarded graph finds out.
	ErrChanged = errors.New("it changed what it was given to read: make a copy of what is to be changed")
	// ErrTwoWriters says that two nodes that ran side by side have written one field.
	ErrTwoWriters = errors.New("two writers")

	errGone = errors.New("it ended its goroutine")
	errLate = errors.New("it took longer than its limit")
)

// visit is one execution of a node within a turn.
type visit[S any] struct {
	node   *Node[S]
	number int  // among the visits of the turn
	step   int  // one more than the latest step that led here
	past   bits // the numbers of the visits that led here, directly or not
	view   *S   // the state after them; states never change once they are made
	writes Update[S]
	after  *S // view with writes, once the visit has finished

	finished bool // it cannot write any more
	info     Visit
	ctx      nodeContext // its address is the context of the node
	cancel   context.CancelCauseFunc
	due      time.Time // when its time is over; once it is late, when the turn no longer waits for it
	late     bool      // it was cancelled because its time was over
	out      *gate     // nil unless the node streams
}

// nodeContext is the context that a node works with. The turn's timer ends it, so that a node needs no timer of its own.
type nodeContext struct {
	context.Context // cancelled when the visit ends, with errLate when its time is over
	at              place
	due             time.Time
}

func (c *nodeContext) Deadline() (time.Time, bool) {
	if outer, ok := c.Context.Deadline(); ok && outer.Before(c.due) {
		return outer, true
	}
	return c.due, true
}

func (c *nodeContext) Err() error {
	err := c.Context.Err()
	if err != nil && errors.Is(context.Cause(c.Context), errLate) {
		return context.DeadlineExceeded
	}
	return err
}

func (c *nodeContext) Value(key any) any {
	if key == (placeKey{}) {
		return &c.at
	}
	return c.Context.Value(key)
}

// gate lets the tokens of a node through until it is closed.
type gate struct {
	mu   sync.Mutex
	sink func(text string) error // nil once it is closed
}

// write ignores the context that the node passes: the visit's own ends with the visit.
func (g *gate) write(_ context.Context, text string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.sink == nil {
		return ErrFinished
	}
	return g.sink(text)
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sink = nil
}

// arrive makes the visit of a node to which other visits have led.
func (t *turn[S]) arrive(n *Node[S], from []*visit[S]) *visit[S] {
	if len(t.unused) == 0 {
		t.unused = make([]visit[S], len(t.g.nodes)) // most turns need about as many visits as there are nodes
	}
	v := &t.unused[0]
	t.unused = t.unused[1:]
	v.node, v.number, v.step = n, len(t.visits), stepAfter(from)
	for _, f := range from {
		v.past.addAll(f.past)
		v.past.add(f.number)
	}
	return v
}

// stepAfter returns the step of a node to which these visits have led; without any it is that of Start.
func stepAfter[S any](from []*visit[S]) int {
	step := 0
	for _, f := range from {
		step = max(step, f.step+1)
	}
	return step
}

// start opens the visit: it tells the observer and makes the context and the sink.
func (v *visit[S]) start(t *turn[S]) {
	n, ctx := v.node, t.ctx
	v.info = Visit{Graph: t.g.name, Thread: t.thread, Turn: t.number, Node: n.name, Step: v.step, Began: time.Now()}
	if o := t.g.observer; o != nil {
		_ = try(t.g.log, "observer", n.name, func() error { ctx = o.NodeBegan(ctx, v.info); return nil })
	}
	v.due = v.info.Began.Add(n.limit)
	ctx, v.cancel = context.WithCancelCause(ctx)
	v.ctx = nodeContext{ctx, place{t.tasks, v.step}, v.due}
	if n.streams {
		v.out = &gate{sink: func(text string) error { return t.sink(&v.ctx, text) }}
	}
}

// run calls the node's function. It is called without the lock.
func (v *visit[S]) run(t *turn[S]) (u Update[S], err error) {
	err = try(t.g.log, "node", v.node.name, func() error {
		var out TokenSink
		if v.out != nil {
			out = v.out.write
		}
		var failed error
		changed := t.g.schema.lend(v.view, func(s S) {
			var own Update[S]
			own, failed = v.node.work(&v.ctx, s, out)
			u = slices.Clone(own) // the node may keep its own
		})
		return cmp.Or(changed, failed)
	})
	return u, err
}

// finish ends a visit with what its node has returned: the update or that of the fallback is accepted, or else the turn fails.
func (t *turn[S]) finish(v *visit[S], u Update[S], err error) error {
	if t.ctx.Err() != nil {
		t.close(v, context.Cause(t.ctx), false)
		return t.cancelled()
	}
	fallback := v.node.fallback
	if err != nil && errors.Is(context.Cause(&v.ctx), errLate) {
		err = fmt.Errorf("%w of %v: %w", errLate, v.node.limit, context.DeadlineExceeded)
	}
	t.close(v, err, err != nil && fallback != nil)
	switch {
	case err != nil && fallback == nil:
		return &NodeError{v.node.name, err}
	case err != nil:
		if changed := t.g.schema.lend(v.view, func(s S) { u = slices.Clone(fallback(s, err)) }); changed != nil {
			return &NodeError{v.node.name, changed}
		}
		if t.g.warn != nil {
			u = append(u, t.g.warn(v.node.name, err))
		}
	}
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
	v.cancel(nil)
	if v.out != nil {
		v.out.close()
	}
	t.running.remove(v.node.index)
	t.active--
	if o := t.g.observer; o != nil {
		v.info.Duration, v.info.Err, v.info.FellBack = time.Since(v.info.Began), err, fellBack
		_ = try(t.g.log, "observer", v.node.name, func() error { o.NodeEnded(&v.ctx, v.info); return nil })
	}
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
	v.finished, v.writes = true, u
	v.after = t.g.schema.applied(v.view, u)
	next, err := t.next(v)
	for _, to := range next {
		if to != end {
			t.arrivals[to] = append(t.arrivals[to], v)
			t.waiting.add(to)
		}
	}
	return err
}

// claim makes a visit the last writer of a field. Where a field has no Merge, the writer before must have led to this visit.
func (t *turn[S]) claim(v *visit[S], c Column[S]) error {
	a := c.about()
	if !a.single {
		return nil
	}
	if w := t.writers[a.number]; w == v {
		return fmt.Errorf("%w: node %q writes field %q twice: write it once", ErrTwoWriters, v.node.name, a.name)
	} else if w != nil && !v.past.has(w.number) {
		return fmt.Errorf("%w: nodes %q and %q run side by side and write field %q: let one lead to the other, or declare the field with Merge",
			ErrTwoWriters, min(w.node.name, v.node.name), max(w.node.name, v.node.name), a.name)
	}
	t.writers[a.number] = v
	return nil
}

// next returns the nodes to which a visit leads.
func (t *turn[S]) next(v *visit[S]) ([]int, error) {
	n := v.node
	if n.choose == nil {
		return n.always, nil
	}
	var names []string
	if err := t.g.schema.lend(v.after, func(s S) { names = n.choose(s) }); err != nil {
		return nil, fmt.Errorf("its branch: %w", err)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("its branch names no node: name %s to lead nowhere", End)
	}
	next := slices.Clone(n.always)
	for _, name := range names {
		to, known := t.g.byName[name]
		if !known || !slices.Contains(n.choices, to) {
			return nil, fmt.Errorf("its branch names %q, to which it may not lead (%s)", name, source.Suggest(name, t.g.namesOf(n.choices)))
		}
		if !slices.Contains(next, to) {
			next = append(next, to)
		}
	}
	return next, nil
}

// written returns the visits that have written something, in the order in which their writes count: by step, then by name. It looks at those
// whose numbers are among some, or at all when that is nil.
func (t *turn[S]) written(among *bits) []*visit[S] {
	visits := make([]*visit[S], 0, len(t.visits))
	for _, v := range t.visits {
		if len(v.writes) > 0 && (among == nil || among.has(v.number)) {
			visits = append(visits, v)
		}
	}
	slices.SortFunc(visits, func(a, b *visit[S]) int {
		return cmp.Or(cmp.Compare(a.step, b.step), cmp.Compare(a.node.index, b.node.index))
	})
	return visits
}

// after returns the state after visits in the order of written. It starts from the last visit that all others come before or after, because
// the state of that one has all writes up to it.
func (t *turn[S]) after(visits []*visit[S]) *S {
	state, first := t.base, 0
	for i, v := range slices.Backward(visits) {
		if divides(visits, i) {
			state, first = v.after, i+1
			break
		}
	}
	var u Update[S]
	for _, v := range visits[first:] {
		u = append(u, v.writes...)
	}
	return t.g.schema.applied(state, u)
}

// divides reports whether the visits before one have led to it, and it to those after.
func divides[S any](visits []*visit[S], at int) bool {
	for i, v := range visits {
		if i < at && !visits[at].past.has(v.number) || i > at && !v.past.has(visits[at].number) {
			return false
		}
	}
	return true
}
