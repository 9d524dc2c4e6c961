package graph

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"
)

// ErrSteps says that a turn took more steps than it may.
var ErrSteps = errors.New("the turn takes too many steps")

// turn is one run of a graph, from the input to the result.
//
// Each node is executed in a visit. The goroutine that has run a visit finishes it, begins the nodes that are ready
// now, goes on with one of them and leaves the others to new goroutines; so a chain of nodes runs in one goroutine. The
// goroutine of Run watches the time.
type turn[S any] struct {
	g         *Graph[S]
	activeRun *activeRun
	path      string      // before the names of its nodes: those of the nodes whose subgraph this is, each with a slash
	at        string      // before the steps of its visits: those of the outer visits, each with a dot
	base      *S          // the state before the input
	edits     []Update[S] // what UpdateState has written while the turn waited, in order
	sink      TokenSink
	ctx       context.Context
	tasks     *tasks

	mu       sync.Mutex // of all that follows
	unused   []visit[S]
	visits   []*visit[S]   // in the order in which they began
	begun    []*visit[S]   // those that no goroutine has yet
	arrivals [][]*visit[S] // by node: the visits that have led to it since it last began
	waiting  bits          // the nodes with arrivals
	running  bits          // the nodes with a visit that is not finished
	active   int           // the number of those visits, but for those that wait for an answer
	parked   int           // the number of visits that wait for an answer
	shown    int           // the last step whose state the stream has been given
	writers  []*visit[S]   // by field: the visit that wrote it last, for fields that allow one writer at a time
	streamer *visit[S]     // the last visit of a streaming node
	err      error         // why the turn has failed
	news     chan struct{} // gets a value when the turn has failed or nothing is active any more
	timer    *time.Timer   // for the limits of nodes
	due      time.Time     // when the timer fires; zero when it is not set
}

func newTurn[S any](g *Graph[S], l *activeRun, base *S, sink TokenSink) *turn[S] {
	if sink == nil {
		sink = func(context.Context, string) error { return nil }
	}
	return &turn[S]{
		g: g, activeRun: l, base: base, sink: sink, news: make(chan struct{}, 1), timer: time.NewTimer(grace),
		visits: make([]*visit[S], 0, len(g.nodes)), arrivals: make([][]*visit[S], len(g.nodes)),
		writers: make([]*visit[S], len(g.schema.columns)),
	}
}

// errParked says that a turn has gone as far as it can without answers.
var errParked = fmt.Errorf("a turn: %w", ErrInterrupted)

// hold runs the graph and returns the state at the end with the writes that have led to it; after an error, the writes
// to Kept fields. When it returns, all that the turn has started has ended or can no longer write.
func (t *turn[S]) hold(ctx context.Context, input Update[S]) (state *S, writes Update[S], err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	t.ctx = ctx
	t.tasks = newTasks(ctx, t.activeRun.thread, t.activeRun.turn, t.activeRun.log, t.activeRun.count)
	t.enter(input)
	err = t.wait()
	cancel(err)
	t.stop()
	if err == nil && t.parked > 0 {
		if err = t.keepSettled(); err == nil {
			err = errParked
		}
	}
	t.tasks.stop()
	written := t.written(nil)
	writes = t.merged(written, len(t.edits))
	if err == nil {
		err = try(t.ctx, t.activeRun.log, "graph", t.activeRun.graph, func() error {
			state = t.after(written, len(t.edits))
			return nil
		})
	}
	if err != nil {
		writes = slices.DeleteFunc(writes, func(w Write[S]) bool { return !w.column().about().kept })
	}
	return state, writes, err
}

// enter takes the input as the visit of Start, and begins the nodes to which that leads.
func (t *turn[S]) enter(input Update[S]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	start := t.arrive(t.g.nodes[0], nil)
	start.view = t.base
	t.visits = append(t.visits, start)
	t.proceed(func() error {
		if err := t.accept(start, slices.Clone(input)); err != nil {
			return fmt.Errorf("the input: %w", err)
		}
		return nil
	})
	t.share(t.begun)
}

// wait returns when nothing is active any more or the turn has failed.
func (t *turn[S]) wait() error {
	for {
		select {
		case <-t.news:
			t.mu.Lock()
			defer t.mu.Unlock()
			return t.err
		case <-t.timer.C:
			t.expire()
		case <-t.ctx.Done():
			return t.cancelled()
		}
	}
}

func (t *turn[S]) cancelled() error {
	return fmt.Errorf("the turn was cancelled: %w", context.Cause(t.ctx))
}

// work runs a visit, and then others as long as report returns one.
func (t *turn[S]) work(v *visit[S]) {
	defer func() {
		if v == nil {
			return
		}
		if next := t.report(v, nil, errGone); next != nil { // the node has ended the goroutine
			go t.work(next)
		}
	}()
	for v != nil {
		update, err := v.run(t)
		v = t.report(v, update, err)
	}
}

// share leaves visits to new goroutines.
func (t *turn[S]) share(begun []*visit[S]) {
	for _, v := range begun {
		go func() {
			growStack()
			t.work(v)
		}()
	}
	t.begun = t.begun[:0]
}

// growStack gives a new goroutine at once the stack that a node takes. Without it the stack grows in steps, and each
// step copies it.
//
//go:noinline
func growStack() {
	var room [8 << 10]byte
	runtime.KeepAlive(&room)
}

// report finishes a visit and begins what is ready after it. It returns one of the visits that have begun, nil when
// there is none.
func (t *turn[S]) report(v *visit[S], u Update[S], err error) *visit[S] {
	t.mu.Lock()
	defer t.mu.Unlock()
	if v.finished { // at its limit, or at the end of the turn
		return nil
	}
	if t.activeRun.watched() {
		t.finishAloud(v, u, err)
	} else {
		t.proceed(func() error { return t.finish(v, u, err) })
	}
	t.close(v, t.err, false) // proceed leaves it open when the turn had failed before
	if len(t.begun) == 0 {
		return nil
	}
	next := t.begun[0]
	t.share(t.begun[1:])
	return next
}

// proceed calls step and begins the nodes that are ready then. A failure is that of the turn, in which nothing begins
// any more.
func (t *turn[S]) proceed(step func() error) {
	err := t.err
	if err == nil {
		err = errGone // holds if a function of the graph ends the goroutine
	}
	defer func() {
		if t.err = err; err != nil {
			for _, v := range t.begun {
				t.close(v, err, false)
			}
			t.begun = nil
		}
		if err != nil || t.active == 0 {
			select {
			case t.news <- struct{}{}:
			default:
			}
		}
		t.tasks.advance(t.lowestStep())
	}()
	if t.err == nil {
		err = try(t.ctx, t.activeRun.log, "graph", t.activeRun.graph, func() error {
			if err := step(); err != nil {
				return err
			}
			return t.beginReady()
		})
	}
}

// stop waits for the visits that are not finished; their context is done. Those that do not return within the grace are
// closed.
func (t *turn[S]) stop() {
	defer t.timer.Stop()
	if !t.stopping() {
		return
	}
	late := time.NewTimer(grace)
	defer late.Stop()
	for t.stopping() {
		select {
		case <-t.news:
		case <-late.C:
			t.abandon()
		}
	}
}

// stopping reports whether a visit is not finished. If so, the turn has failed and nothing begins any more.
func (t *turn[S]) stopping() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.active > 0 && t.err == nil {
		t.err = t.cancelled()
	}
	return t.active > 0
}

// abandon closes all visits that are not finished.
func (t *turn[S]) abandon() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, v := range t.visits {
		if !v.finished {
			t.activeRun.log.Warn("a node did not stop when it was told to", "graph", t.activeRun.graph, "thread",
				t.activeRun.thread, "node", v.info.Node)
			t.close(v, t.err, false)
		}
	}
}
