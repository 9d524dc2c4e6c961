package graph

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
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
	after  *S // view with writes, once somebody has asked for it; see stateAfter

	accepted bool // its writes count
	finished bool // it cannot write any more
	held     bool // it has finished, but what it wrote is still being saved
	late     bool // it was cancelled because its time was over
	fell     bool // its fallback stood in
	told     bool // the observer has been told of the beginning of an attempt and not of its end
	info     Visit
	ctx      *nodeContext // of the node, for each attempt another
	first    nodeContext  // that of the first
	cancel   context.CancelCauseFunc
	replay   *stepText       // of an earlier attempt at the turn, in which it has settled
	work     *itemResults[S] // of a node of Each
	due      time.Time       // when its time is over; once it is late, when the turn no longer waits for it
	out      *gate           // nil unless the node streams
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
	sink func(ctx context.Context, text string) error // nil once it is closed
	used bool
	kept *strings.Builder // what was written, nil when nobody needs it
}

func (g *gate) write(ctx context.Context, text string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.sink == nil {
		return ErrFinished
	}
	g.used = true
	if g.kept != nil {
		g.kept.WriteString(text)
	}
	return g.sink(ctx, text)
}

func (g *gate) wrote() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.used
}

// text returns what was written.
func (g *gate) text() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.kept == nil {
		return ""
	}
	return g.kept.String()
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sink = nil
}

// visitsAtOnce is how many visits are made together: a turn that visits few of many nodes does not pay for the others.
const visitsAtOnce = 8

// arrive makes the visit of a node to which other visits have led.
func (t *turn[S]) arrive(n *Node[S], from []*visit[S]) *visit[S] {
	if len(t.unused) == 0 {
		t.unused = make([]visit[S], visitsAtOnce)
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

// start prepares the visit: it finds out what is known of it from an earlier attempt at the turn, and opens it. False says that the visit
// still waits for an answer and is not run.
func (v *visit[S]) start(t *turn[S]) bool {
	v.info = Visit{Graph: t.life.graph, Thread: t.life.thread, Turn: t.life.turn, Node: t.path + v.node.name, Step: v.step, Attempt: 1}
	if t.life.recalls() {
		key := visitKey(v.info.Node, t.at+strconv.Itoa(v.step))
		if v.replay = t.life.take(key); v.replay == nil && t.life.open[key] {
			v.finished = true
			return false
		}
	}
	v.open(t)
	return true
}

// open begins an attempt: it tells the observer and makes the context and the sink.
func (v *visit[S]) open(t *turn[S]) {
	n, ctx := v.node, t.ctx
	v.info.Began = time.Now()
	if o := t.life.observer; o != nil && v.replay == nil {
		v.told = true
		t.life.observing.Lock()
		_ = try(ctx, t.life.log, "observer", v.info.Node, func() error { ctx = o.NodeBegan(ctx, v.info); return nil })
		t.life.observing.Unlock()
	}
	v.due = v.info.Began.Add(n.limit)
	ctx, v.cancel = context.WithCancelCause(ctx)
	v.ctx = &v.first
	if v.info.Attempt > 1 { // the one before may still look at its own
		v.ctx = new(nodeContext)
	}
	at := &v.ctx.at
	v.ctx.Context, v.ctx.due = ctx, v.due
	at.life, at.tasks, at.visit, at.before, at.item = t.life, t.tasks, &v.info, &t.at, -1
	if t.life.recalls() {
		if answers := t.life.answers[at.key()]; answers != nil {
			at.notes().answers = answers
		}
	}
	if n.streams {
		v.out = v.newGate(t)
	}
}

// newGate makes the sink of an attempt. A node cannot pass a context of its own, because the visit's ends with the visit; the nodes of a subgraph
// have theirs.
func (v *visit[S]) newGate(t *turn[S]) *gate {
	own, within := v.ctx, v.node.sub != nil
	g := &gate{sink: func(ctx context.Context, text string) error {
		if !within {
			ctx = own
		}
		return t.sink(ctx, text)
	}}
	if t.life.durable {
		g.kept = new(strings.Builder)
	}
	return g
}

// run calls the node's function, again when it fails and its policy says so. It is called without the lock.
func (v *visit[S]) run(t *turn[S]) (u Update[S], err error) {
	if v.replay != nil {
		return t.replayed(v)
	}
	for {
		u, err = v.attempt(t)
		if err == nil || !v.again(t, err) {
			return u, err
		}
	}
}

func (v *visit[S]) attempt(t *turn[S]) (u Update[S], err error) {
	ctx := v.ctx
	err = try(ctx, t.life.log, "node", v.info.Node, func() error {
		if v.node.inner != nil {
			u, err = v.node.inner(t, v, ctx)
			return err
		}
		var out TokenSink
		if v.out != nil {
			out = v.out.write
		}
		var failed error
		changed := t.g.schema.lend(v.view, func(s S) {
			var own Update[S]
			own, failed = v.node.work(ctx, s, out)
			u = slices.Clone(own) // the node may keep its own
		})
		return cmp.Or(changed, failed)
	})
	return u, err
}

// replayed returns what a node has written that had settled in an earlier attempt at the turn.
func (t *turn[S]) replayed(v *visit[S]) (Update[S], error) {
	u, err := t.g.schema.decodeUpdate(v.replay.Writes)
	if err != nil {
		return nil, err
	}
	for _, kind := range v.replay.Cancelled {
		t.tasks.cancel(kind)
	}
	for _, kind := range v.replay.Started {
		t.tasks.sleep(kind, func(ctx context.Context) error { return t.haunt(ctx, v) })
	}
	if v.out != nil && v.replay.Text != "" && t.life.again {
		return u, v.out.write(v.ctx, v.replay.Text)
	}
	return u, nil
}

// haunt runs a node that had settled once more, only so that it begins its tasks anew; whatever else it does is lost.
func (t *turn[S]) haunt(ctx context.Context, v *visit[S]) error {
	if v.node.work == nil {
		return nil
	}
	ghost := &nodeContext{Context: ctx, due: time.Now().Add(v.node.limit)}
	ghost.at.life, ghost.at.tasks, ghost.at.visit, ghost.at.before, ghost.at.item = t.life, t.tasks, &v.info, &t.at, -1
	ghost.at.ghost, ghost.at.notes().answers = true, v.replay.Answers
	return t.g.schema.lend(v.view, func(s S) {
		_, _ = v.node.work(ghost, s, func(context.Context, string) error { return nil })
	})
}

// finish ends a visit with what its node has returned: the update or that of the fallback is accepted, the visit waits, or the turn fails.
func (t *turn[S]) finish(v *visit[S], u Update[S], err error) error {
	u, settled, err := t.settle(v, u, err)
	if err != nil || !settled {
		return err
	}
	return t.accepted(v, u)
}

// settle closes a visit and returns its update, which is that of the fallback when the node has failed. Without an error and unsettled the
// visit waits for an answer.
func (t *turn[S]) settle(v *visit[S], u Update[S], err error) (_ Update[S], settled bool, _ error) {
	if t.ctx.Err() != nil {
		t.close(v, context.Cause(t.ctx), false)
		return nil, false, t.cancelled()
	}
	if q, passed := v.ctx.at.waiting(err); q != nil || passed {
		t.close(v, err, false)
		t.park(v)
		if q != nil {
			t.life.ask(q)
		}
		return nil, false, nil
	}
	fallback := v.node.fallback
	err = v.lateness(err)
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
	t.life.observing.Lock()
	defer t.life.observing.Unlock()
	_ = try(v.ctx, t.life.log, "observer", v.info.Node, func() error { t.life.observer.NodeEnded(v.ctx, v.info); return nil })
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
	if err := t.g.schema.lend(t.stateAfter(v), func(s S) { names = n.choose(s) }); err != nil {
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
			state, first = t.stateAfter(v), i+1
			break
		}
	}
	var u Update[S]
	for _, v := range visits[first:] {
		u = append(u, v.writes...)
	}
	return t.g.schema.applied(state, u)
}

// stateAfter returns the state after a visit whose writes count. It is made when it is first needed: where nodes that ran side by side lead to one,
// nobody reads the states after each of them.
func (t *turn[S]) stateAfter(v *visit[S]) *S {
	if v.after == nil {
		v.after = t.g.schema.applied(v.view, v.writes)
	}
	return v.after
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
