package graph

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

var (
	// ErrSettled is what a streaming node gets that writes after its end.
	ErrSettled = errors.New("the node has settled: it cannot write any more")
	errLate    = errors.New("it took longer than its limit")
	errGone    = errors.New("it ended its goroutine")
)

// visit is one execution of a node within a turn.
type visit[S any] struct {
	node   *Node[S]
	number int  // among the visits of the turn
	step   int  // one more than the latest step that led here
	past   bits // the numbers of the visits that led here, directly or not
	view   *S   // the state after them; like all states here it is never changed
	after  *S   // view with the writes of this visit, once it has settled
	writes Update[S]

	settled bool
	info    Visit
	ctx     context.Context // of the node
	cancel  context.CancelFunc
	out     *gate       // nil unless the node streams
	overdue *time.Timer // gives up on a node that does not mind its context
}

// report is how a visit came out.
type report[S any] struct {
	visit  *visit[S]
	update Update[S]
	err    error
}

// start lets the node work in a goroutine of its own.
func (v *visit[S]) start(ctx context.Context, t *turn[S]) {
	n := v.node
	v.info = Visit{Graph: t.g.name, Thread: t.thread, Turn: t.number, Node: n.name, Step: v.step, Began: time.Now()}
	if t.g.observer != nil {
		ctx = t.g.observer.NodeBegan(ctx, v.info)
	}
	v.ctx, v.cancel = context.WithTimeoutCause(ctx, n.limit, errLate)
	if n.streams {
		v.out = &gate{ctx: v.ctx, sink: t.sink}
	}
	v.overdue = time.AfterFunc(n.limit+grace, func() { t.deliver(report[S]{visit: v, err: errLate}) })
	snapshot := t.g.schema.copyOf(v.view) // here, as the stack of a new goroutine would have to grow for it
	go v.work(t, snapshot)
}

// work calls the node and reports, whatever the node does.
func (v *visit[S]) work(t *turn[S], snapshot *S) {
	r := report[S]{visit: v, err: errGone}
	defer func() { t.deliver(r) }()
	r.err = try(t.g.log, "node "+v.node.name, func() error {
		var out TokenSink
		if v.out != nil {
			out = v.out.write
		}
		update, err := v.node.work(v.ctx, *snapshot, out)
		r.update = slices.Clone(update) // the node may keep its own
		return err
	})
}

// deliver reports, unless the turn is over.
func (t *turn[S]) deliver(r report[S]) {
	select {
	case t.reports <- r:
	case <-t.over:
	}
}

// leave ends a visit: from now on it cannot write.
func (t *turn[S]) leave(v *visit[S], err error, fellBack bool) {
	if v.settled {
		return
	}
	v.settled = true
	v.cancel()
	v.overdue.Stop()
	if v.out != nil {
		v.out.close()
	}
	t.running.remove(v.node.index)
	t.active--
	if t.g.observer != nil {
		v.info.Duration, v.info.Err, v.info.FellBack = time.Since(v.info.Began), err, fellBack
		t.g.observer.NodeEnded(v.ctx, v.info)
	}
}

// reason says more of why a node failed that was out of time.
func (v *visit[S]) reason(err error) error {
	if err != nil && errors.Is(context.Cause(v.ctx), errLate) {
		return fmt.Errorf("%w of %v: %w", errLate, v.node.limit, context.DeadlineExceeded)
	}
	return err
}

// gate lets the tokens of a node through until the node has settled.
type gate struct {
	ctx  context.Context
	mu   sync.Mutex
	sink TokenSink // nil once it is closed
}

// write takes the context of the gate, as that one is done when the visit ends, whatever the node hands over.
func (g *gate) write(_ context.Context, text string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.sink == nil {
		return ErrSettled
	}
	return g.sink(g.ctx, text)
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sink = nil
}
