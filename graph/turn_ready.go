package graph

import (
	"fmt"
	"time"
)

// beginReady begins every waiting node that no running or waiting node can lead to.
func (t *turn[S]) beginReady() error {
	if t.waiting.empty() {
		return nil
	}
	var busy bits
	busy.addAll(t.waiting)
	busy.addAll(t.running)
	for n := range t.waiting.all {
		if node := t.g.nodes[n]; !node.before.meets(busy) {
			if err := t.begin(node); err != nil {
				return err
			}
		}
	}
	if t.active == 0 && t.parked == 0 { // the waiting nodes are on a loop and wait for each other
		return t.begin(t.earliest())
	}
	return nil
}

// earliest returns the waiting node with the lowest step, of several the first by name.
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

// begin starts a visit of a waiting node.
func (t *turn[S]) begin(n *Node[S]) error {
	from := t.arrivals[n.index]
	t.arrivals[n.index] = from[:0]
	t.waiting.remove(n.index)
	v := t.arrive(n, from)
	if v.step > t.g.steps {
		return fmt.Errorf("%w: node %q would be step %d: end the loop that leads to it, or raise Builder.Steps",
			ErrSteps, n.name, v.step)
	}
	if n.streams {
		if t.streamer != nil && !v.past.has(t.streamer.number) {
			return mixing(t.streamer.node, n)
		}
		t.streamer = v
	}
	waits := !v.recall(t)
	if len(from) == 1 && len(t.edits) == 0 {
		v.view = t.stateAfter(from[0])
	} else {
		v.view = t.after(t.written(&v.past), v.edits)
	}
	t.visits = append(t.visits, v)
	if waits {
		t.park(v)
		return nil
	}
	v.open(t)
	t.begun = append(t.begun, v)
	t.running.add(n.index)
	t.active++
	t.wakeAt(v.due)
	return nil
}

// lowestStep returns the lowest step of a visit that is not finished. Waiting nodes do not count: when they begin,
// their step is higher.
func (t *turn[S]) lowestStep() int {
	lowest := t.g.steps
	for _, v := range t.visits {
		if !v.finished || v.held {
			lowest = min(lowest, v.step)
		}
	}
	return lowest
}

// wakeAt makes the timer fire at a time, unless it fires before.
func (t *turn[S]) wakeAt(due time.Time) {
	if t.due.IsZero() || due.Before(t.due) {
		t.timer.Reset(time.Until(due))
		t.due = due
	}
}

// expire cancels the visits that are out of time, and finishes those that were cancelled before and have not returned
// within the grace.
func (t *turn[S]) expire() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.due = time.Time{}
	for _, v := range t.visits {
		switch {
		case v.finished:
			continue
		case time.Now().Before(v.due):
		case v.late:
			t.activeRun.log.Warn("a node did not stop at its limit", "graph", t.activeRun.graph, "thread",
				t.activeRun.thread, "node", v.info.Node)
			if t.activeRun.watched() {
				v.due = v.due.Add(saveLimit)
				go t.conclude(v) // what the fallback writes is saved while the timer serves others
				break
			}
			t.proceed(func() error { return t.finish(v, nil, v.node.late()) })
			continue
		default:
			v.late = true
			v.cancel(errLate)
			v.due = v.due.Add(grace)
		}
		t.wakeAt(v.due)
	}
	t.share(t.begun)
}
