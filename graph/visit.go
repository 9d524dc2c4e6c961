package graph

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
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
	edits  int  // how many edits of a turn that waited come before it
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

// nodeContext is the context that a node works with. The turn's timer ends it, so that a node needs no timer of its
// own.
type nodeContext struct {
	context.Context // cancelled when the visit ends, with errLate when its time is over
	at              position
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
	if key == (positionKey{}) {
		return &c.at
	}
	return c.Context.Value(key)
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

// recall finds out what is known of the visit from an earlier attempt at the turn. It returns false when the visit
// still waits for an answer and is not run.
func (v *visit[S]) recall(t *turn[S]) bool {
	v.info = Visit{
		Graph: t.activeRun.graph, Thread: t.activeRun.thread, Turn: t.activeRun.turn, Node: t.path + v.node.name,
		Step: v.step, Attempt: 1,
	}
	v.edits = len(t.edits)
	if t.activeRun.recalls() {
		key := visitKey(v.info.Node, t.at+strconv.Itoa(v.step))
		if v.replay = t.activeRun.take(key); v.replay == nil && t.activeRun.open[key] {
			v.finished = true
			return false
		}
		if v.replay != nil {
			v.edits = min(v.replay.edits, v.edits) // a subgraph has none
		}
	}
	return true
}

// open begins an attempt: it tells the observer and makes the context and the sink.
func (v *visit[S]) open(t *turn[S]) {
	n, ctx := v.node, t.ctx
	v.info.Began = time.Now()
	if o := t.activeRun.observer; o != nil && v.replay == nil {
		v.told = true
		t.activeRun.observing.Lock()
		_ = try(ctx, t.activeRun.log, "observer", v.info.Node, func() error {
			ctx = o.NodeBegan(ctx, v.info)
			return nil
		})
		t.activeRun.observing.Unlock()
	}
	v.due = v.info.Began.Add(n.limit)
	ctx, v.cancel = context.WithCancelCause(ctx)
	v.ctx = &v.first
	if v.info.Attempt > 1 { // the one before may still look at its own
		v.ctx = new(nodeContext)
	}
	at := &v.ctx.at
	v.ctx.Context, v.ctx.due = ctx, v.due
	at.activeRun, at.tasks, at.visit, at.before, at.item = t.activeRun, t.tasks, &v.info, &t.at, -1
	if t.activeRun.recalls() {
		if answers := t.activeRun.answers[at.key()]; answers != nil {
			at.notes().answers = answers
		}
	}
	if n.streams {
		v.out = v.newGate(t)
	}
}

// newGate makes the sink of an attempt. A node cannot pass a context of its own, because the visit's ends with the
// visit; the nodes of a subgraph have theirs.
func (v *visit[S]) newGate(t *turn[S]) *gate {
	own, within := v.ctx, v.node.sub != nil
	g := &gate{sink: func(ctx context.Context, text string) error {
		if !within {
			ctx = own
		}
		return t.sink(ctx, text)
	}}
	if t.activeRun.durable {
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
	err = try(ctx, t.activeRun.log, "node", v.info.Node, func() error {
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
	if !time.Now().Before(ctx.due) { // whatever it has returned
		return nil, v.node.late()
	}
	return u, err
}

// late returns the failure of an attempt that has not returned within its limit.
func (n *Node[S]) late() error {
	return fmt.Errorf("%w of %v: %w", errLate, n.limit, context.DeadlineExceeded)
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
	if v.out != nil && v.replay.Text != "" && t.activeRun.again {
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
	ghost.at.activeRun, ghost.at.tasks, ghost.at.visit, ghost.at.before, ghost.at.item = t.activeRun, t.tasks,
		&v.info, &t.at, -1
	ghost.at.ghost, ghost.at.notes().answers = true, v.replay.Answers
	return t.g.schema.lend(v.view, func(s S) {
		_, _ = v.node.work(ghost, s, func(context.Context, string) error { return nil })
	})
}
