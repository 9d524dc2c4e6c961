package graph

import (
	"encoding/json"
	"errors"
	"slices"
)

// finishAloud does what finish does for a turn that somebody watches: before the next nodes begin, what the node has
// written is saved as a step and told to the stream. The caller holds the lock, which is free meanwhile.
func (t *turn[S]) finishAloud(v *visit[S], u Update[S], err error) {
	var step *Step
	var changes json.RawMessage
	values := t.activeRun.stream.wants(Values) && t.path == ""
	if values { // the turn does not end before the reader has taken its last state
		t.active++
	}
	t.proceed(func() error {
		settled := false
		if u, settled, err = t.settle(v, u, err); err != nil || !settled {
			return err
		}
		if u, step, err = t.durably(v, u); err != nil {
			return &NodeError{v.node.name, err}
		}
		if t.activeRun.stream.wants(Updates) {
			if changes, err = t.changes(u); err != nil {
				return &NodeError{v.node.name, err}
			}
		}
		v.held = true
		t.running.add(v.node.index)
		t.active++
		return nil
	})
	if v.held {
		t.mu.Unlock()
		err := t.publish(v, step, changes)
		t.mu.Lock()
		v.held = false
		t.running.remove(v.node.index)
		t.active--
		t.proceed(func() error {
			if err != nil {
				return err
			}
			return t.accepted(v, u)
		})
	}
	if values {
		t.showValues()
		t.active--
		t.proceed(func() error { return nil })
	}
}

// durably returns the update as the step of a durable turn gives it back, with the step. A turn that goes on later then
// reads the same as one that nothing has disturbed. The step is nil when there is nothing to save.
func (t *turn[S]) durably(v *visit[S], u Update[S]) (Update[S], *Step, error) {
	if !t.activeRun.durable || v.replay != nil {
		return u, nil, nil
	}
	u, err := t.g.schema.checked(u)
	if err != nil {
		return nil, nil, err
	}
	if v.node.each && !v.fell { // its items have been saved, and are as they were read back
		return u, nil, nil
	}
	step, text, err := t.stepOf(v, u)
	if err != nil {
		return nil, nil, err
	}
	u, err = t.g.schema.decodeUpdate(text.Writes)
	return u, &step, err
}

// stepOf makes the step of a visit.
func (t *turn[S]) stepOf(v *visit[S], u Update[S]) (Step, stepText, error) {
	writes, err := t.g.schema.encodeUpdate(u)
	if err != nil {
		return Step{}, stepText{}, err
	}
	at := &v.ctx.at
	at.mu.Lock()
	text := stepText{Kind: stepNode, At: at.at(), Writes: writes, Started: t.tasks.startedBy(at.visit)}
	if noted := at.noted; noted != nil {
		text.Answers, text.Cancelled = noted.answers, slices.Clone(noted.cancelled)
	}
	at.mu.Unlock()
	if v.out != nil {
		text.Text = v.out.text()
	}
	step, err := t.activeRun.step(at.visit.Node, 0, text)
	return step, text, err
}

// publish saves a step and tells the stream of it. It is called without the lock.
func (t *turn[S]) publish(v *visit[S], step *Step, changes json.RawMessage) error {
	if step != nil {
		if err := t.activeRun.save(t.ctx, *step); err != nil {
			return errors.Join(&NodeError{v.node.name, errors.New("its step cannot be saved")}, err)
		}
	}
	if changes == nil {
		return nil
	}
	return t.activeRun.stream.tell(happening{mode: Updates, node: v.info.Node, step: v.step, update: changes})
}

func (t *turn[S]) changes(u Update[S]) (json.RawMessage, error) {
	u, err := t.g.schema.checked(u)
	if err != nil {
		return nil, err
	}
	return t.g.schema.changes(u)
}

// conclude ends a visit that has not stopped at its limit, and begins what is ready after it.
func (t *turn[S]) conclude(v *visit[S]) {
	if next := t.report(v, nil, v.node.late()); next != nil {
		t.work(next)
	}
}

// showValues tells the stream the state after each step that has come to its end. The caller holds the lock, which is
// free meanwhile.
func (t *turn[S]) showValues() {
	if t.err != nil {
		return
	}
	highest, lowest := 0, t.g.steps+1
	for _, v := range t.visits {
		highest = max(highest, v.step)
		if !v.finished || v.held {
			lowest = min(lowest, v.step)
		}
	}
	var due []happening
	for ; t.shown < highest && t.shown+1 < lowest; t.shown++ {
		at := t.shown + 1
		visits := slices.DeleteFunc(t.written(nil), func(v *visit[S]) bool { return v.step > at })
		due = append(due, happening{mode: Values, step: at, state: t.g.schema.copyOf(t.after(visits, len(t.edits)))})
	}
	if len(due) == 0 {
		return
	}
	t.activeRun.stream.line(due...)
	t.mu.Unlock()
	err := t.activeRun.stream.tell()
	t.mu.Lock()
	if err != nil {
		t.proceed(func() error { return err })
	}
}

// keepSettled notes what the nodes have written that have settled in this attempt, so that a turn that waits can be
// saved. A durable turn has saved it before.
func (t *turn[S]) keepSettled() error {
	if t.activeRun.durable {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, v := range t.visits {
		if !v.accepted || v.node.index == 0 || v.replay != nil {
			continue
		}
		step, _, err := t.stepOf(v, v.writes)
		if err != nil {
			return &NodeError{v.node.name, err}
		}
		t.activeRun.keep(step)
	}
	return nil
}
