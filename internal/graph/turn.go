package graph

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// turn is one run of a graph. One goroutine, that of Run, schedules and decides. Each visit works in a goroutine of its own, which gets a
// copy of the state and can do nothing but report.
type turn[S any] struct {
	g      *Graph[S]
	thread string
	number int
	base   *S // the state before the input
	sink   TokenSink
	result *S // at the end

	visits   []*visit[S]   // in the order in which they began
	arrivals [][]*visit[S] // by node: who has led to it since it last began
	waiting  bits          // the nodes with arrivals
	running  bits
	active   int         // visits at work
	writers  []*visit[S] // by number of the field: who wrote it last, for those that have one writer
	streamer *visit[S]   // who streamed last
	reports  chan report[S]
	over     chan struct{} // closed at the end: who still reports is not heard
	watch    *time.Timer   // for nodes that do not mind their context
	due      time.Time     // when it goes off; zero when it does not
}

func newTurn[S any](g *Graph[S], thread string, number int, base *S, sink TokenSink) *turn[S] {
	if sink == nil {
		sink = func(context.Context, string) error { return nil }
	}
	return &turn[S]{
		g: g, thread: thread, number: number, base: base, sink: sink,
		arrivals: make([][]*visit[S], len(g.nodes)), writers: make([]*visit[S], len(g.schema.columns)), reports: make(chan report[S], 4), over: make(chan struct{}),
	}
}

// hold runs the graph from the input to the result. When it returns, all that it has started has ended, or has lost every way to write.
func (t *turn[S]) hold(ctx context.Context, input Update[S]) error {
	ctx, cancel := context.WithCancelCause(ctx)
	tasks := newTasks(ctx, t.thread, t.number, t.g.log, &t.g.tasks)
	err := try(t.g.log, "graph", t.g.name, func() error {
		if err := t.follow(context.WithValue(ctx, tasksKey{}, tasks), input); err != nil {
			return err
		}
		t.result = t.after(t.ordered(t.all()))
		return nil
	})
	cancel(err)
	t.stop(ctx)
	tasks.stop()
	return err
}

// follow schedules until nothing is left to do.
func (t *turn[S]) follow(ctx context.Context, input Update[S]) error {
	start := t.arrive(t.g.nodes[0], nil)
	start.view = t.base
	t.visits = append(t.visits, start)
	if err := t.accept(start, slices.Clone(input)); err != nil {
		return fmt.Errorf("the input: %w", err)
	}
	for {
		if err := t.beginReady(ctx); err != nil {
			return err
		}
		if t.active == 0 {
			return nil
		}
		select {
		case r := <-t.reports:
			if err := t.settle(ctx, r); err != nil {
				return err
			}
		case <-t.watch.C:
			if err := t.giveUp(ctx); err != nil {
				return err
			}
		case <-ctx.Done():
			return cancelled(ctx)
		}
	}
}

func cancelled(ctx context.Context) error {
	return fmt.Errorf("the turn was cancelled: %w", context.Cause(ctx))
}

// beginReady begins every waiting node that nothing at work or waiting can still lead to.
func (t *turn[S]) beginReady(ctx context.Context) error {
	if t.waiting.empty() {
		return nil
	}
	var busy bits
	busy.addAll(t.waiting)
	busy.addAll(t.running)
	for n := range t.waiting.all {
		if node := t.g.nodes[n]; !node.before.meets(busy) {
			if err := t.begin(ctx, node); err != nil {
				return err
			}
		}
	}
	if t.active == 0 { // all that wait are on a loop and wait for each other
		return t.begin(ctx, t.earliest())
	}
	return nil
}

// earliest returns the waiting node with the lowest step, the first by name if there are several.
func (t *turn[S]) earliest() *Node[S] {
	var first *Node[S]
	lowest := 0
	for n := range t.waiting.all {
		if step := stepAfter(t.arrivals[n]); first == nil || step < lowest {
			first, lowest = t.g.nodes[n], step
		}
	}
	return first
}

// begin starts a visit of a node.
func (t *turn[S]) begin(ctx context.Context, n *Node[S]) error {
	from := t.arrivals[n.index]
	t.arrivals[n.index] = nil
	t.waiting.remove(n.index)
	v := t.arrive(n, from)
	if v.step > t.g.steps {
		return fmt.Errorf("%w: node %q would be step %d: end the loop that leads to it, or raise Builder.Steps", ErrSteps, n.name, v.step)
	}
	if n.streams {
		if t.streamer != nil && !v.past.has(t.streamer.number) {
			return mixing(t.streamer.node, n)
		}
		t.streamer = v
	}
	v.view = t.view(v, from)
	v.start(ctx, t)
	t.visits = append(t.visits, v)
	t.running.add(n.index)
	t.active++
	t.watchUntil(v.due)
	return nil
}

