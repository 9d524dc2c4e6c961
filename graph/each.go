package graph

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// defaultParallel is how many items of a node are worked on side by side unless Node.Parallel says otherwise.
const defaultParallel = 16

// Each adds a node that works once for each of some items, side by side. Items and work read the same snapshot; items
// is quick, does no I/O and gives the same for the same state. The writes count in the order of the items, whichever is
// done first; two items that set a field of Last are an ErrTwoWriters. Without items the node settles at once. The
// first failure cancels the other items. Limit and Retry are those of all items together; an item that has settled is
// not worked on again.
func Each[S, E any](
	b *Builder[S], name string, items func(s S) []E, work func(ctx context.Context, s S, item E) (Update[S], error),
) *Node[S] {
	n := b.declareNode(name)
	n.each = true
	if items == nil || work == nil {
		b.problem("node %q needs a function for its items and one for its work", name)
	}
	n.inner = func(t *turn[S], v *visit[S], ctx *nodeContext) (Update[S], error) {
		var list []E
		if err := t.g.schema.lend(v.view, func(s S) { list = slices.Clone(items(s)) }); err != nil {
			return nil, err
		}
		return v.each(t, ctx, len(list), func(ctx context.Context, i int) (u Update[S], err error) {
			changed := t.g.schema.lend(v.view, func(s S) { u, err = work(ctx, s, list[i]) })
			return slices.Clone(u), errors.Join(changed, err)
		})
	}
	return n
}

// Parallel bounds how many items of a node of Each are worked on side by side.
func (n *Node[S]) Parallel(limit int) *Node[S] {
	n.parallel = limit
	if limit <= 0 {
		n.parallel = -1 // which Compile refuses
	}
	return n
}

// itemResults are what became of the items of a visit.
type itemResults[S any] struct{ items []itemResult[S] }

// itemResult is what became of an item.
type itemResult[S any] struct {
	settled bool
	waits   bool // for an answer
	update  Update[S]
}

// each works on the items that have not settled in an earlier attempt.
func (v *visit[S]) each(t *turn[S], ctx *nodeContext, count int,
	work func(context.Context, int) (Update[S], error)) (Update[S], error) {
	if v.work == nil {
		v.work = &itemResults[S]{items: make([]itemResult[S], count)}
		if err := v.recallItems(t, ctx); err != nil {
			return nil, err
		}
	}
	if len(v.work.items) != count {
		return nil, fmt.Errorf("it has %d items now and had %d before: give the same items for the same state", count,
			len(v.work.items))
	}
	within, cancel := context.WithCancelCause(ctx.Context)
	defer cancel(nil)
	var (
		all   sync.WaitGroup
		mu    sync.Mutex
		first error
	)
	parallel := v.node.parallel
	if parallel == 0 {
		parallel = defaultParallel
	}
	free := make(chan struct{}, parallel)
	for i := range v.work.items {
		if v.work.items[i].settled || v.work.items[i].waits {
			continue
		}
		select {
		case free <- struct{}{}:
		case <-within.Done():
		}
		if within.Err() != nil {
			break
		}
		all.Go(func() {
			defer func() { <-free }()
			err := errGone // holds if the work ends the goroutine
			defer func() {
				if err == nil {
					return
				}
				mu.Lock()
				defer mu.Unlock()
				if first == nil {
					first = fmt.Errorf("item %d: %w", i, err)
					cancel(first)
				}
			}()
			err = v.item(within, t, ctx, i, work)
		})
	}
	all.Wait()
	if first == nil && ctx.Err() != nil {
		first = context.Cause(ctx)
	}
	return v.collected(t, ctx, first)
}

// collected returns what all items have written.
func (v *visit[S]) collected(t *turn[S], ctx *nodeContext, failed error) (Update[S], error) {
	if failed != nil {
		return nil, failed
	}
	var u Update[S]
	waits := false
	for i := range v.work.items {
		u = append(u, v.work.items[i].update...)
		waits = waits || v.work.items[i].waits
	}
	if waits {
		ctx.at.wait()
		if err := v.keepItems(t, ctx); err != nil {
			return nil, err
		}
		return nil, errParked
	}
	return u, nil
}

// itemContext makes the context of an item.
func (v *visit[S]) itemContext(within context.Context, t *turn[S], node *nodeContext, i int) *nodeContext {
	c := &nodeContext{Context: within, due: node.due}
	at, outer := &c.at, &node.at
	at.activeRun, at.tasks, at.visit, at.before, at.item, at.outer = t.activeRun, outer.tasks, outer.visit,
		outer.before, int32(i), outer
	if t.activeRun.recalls() {
		if answers := t.activeRun.answers[at.key()]; answers != nil {
			at.notes().answers = answers
		}
	}
	return c
}

// item works on one item. What it has written is saved before it counts as settled, when the turn is durable.
func (v *visit[S]) item(within context.Context, t *turn[S], node *nodeContext, i int,
	work func(context.Context, int) (Update[S], error)) error {
	ctx := v.itemContext(within, t, node, i)
	var u Update[S]
	err := try(ctx, t.activeRun.log, "node", v.info.Node, func() (err error) { u, err = work(ctx, i); return err })
	ctx.at.settled.Store(true)
	if q, _ := ctx.at.waiting(err); q != nil {
		t.activeRun.ask(q)
		v.work.items[i].waits = true
		return nil
	}
	if err == nil {
		err = within.Err()
	}
	if err == nil {
		u, err = t.g.schema.checked(u)
	}
	if err != nil {
		return err
	}
	if t.activeRun.durable {
		step, writes, err := v.itemStep(t, node, i, u)
		if err != nil {
			return err
		}
		if err := t.activeRun.save(ctx, step); err != nil {
			return fmt.Errorf("its step cannot be saved: %w", err)
		}
		if u, err = t.g.schema.decodeUpdate(writes); err != nil {
			return err
		}
	}
	v.work.items[i] = itemResult[S]{settled: true, update: u}
	return nil
}

func (v *visit[S]) itemStep(t *turn[S], node *nodeContext, i int, u Update[S]) (Step, []byte, error) {
	writes, err := t.g.schema.encodeUpdate(u)
	if err != nil {
		return Step{}, nil, err
	}
	step, err := t.activeRun.step(node.at.visit.Node, i, stepText{Kind: stepItem, At: node.at.at(), Writes: writes})
	return step, writes, err
}

// recallItems fills in what is known of the items from an earlier attempt at the turn.
func (v *visit[S]) recallItems(t *turn[S], ctx *nodeContext) error {
	if !t.activeRun.recalls() {
		return nil
	}
	visit := ctx.at.key()
	edits, all := 0, true
	for i := range v.work.items {
		key := itemKey(visit, i)
		if known := t.activeRun.take(key); known != nil {
			u, err := t.g.schema.decodeUpdate(known.Writes)
			if err != nil {
				return err
			}
			v.work.items[i] = itemResult[S]{settled: true, update: u}
			edits = max(edits, known.edits)
			continue
		}
		all = false
		v.work.items[i].waits = t.activeRun.open[key]
	}
	if all && len(t.edits) > 0 { // it had settled as a whole
		v.edits = min(edits, v.edits)
	}
	return nil
}

// keepItems notes what the items have written that have settled, so that a turn that waits can be saved.
func (v *visit[S]) keepItems(t *turn[S], ctx *nodeContext) error {
	if t.activeRun.durable {
		return nil
	}
	for i := range v.work.items {
		if !v.work.items[i].settled {
			continue
		}
		step, _, err := v.itemStep(t, ctx, i, v.work.items[i].update)
		if err != nil {
			return err
		}
		t.activeRun.keep(step)
	}
	return nil
}
