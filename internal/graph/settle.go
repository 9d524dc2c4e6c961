package graph

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"rehearse/internal/source"
)

var (
	// ErrSteps says that a turn took more steps than it may.
	ErrSteps = errors.New("the turn takes too many steps")
	// ErrTwoWriters says that two nodes that ran side by side have written one field.
	ErrTwoWriters = errors.New("two writers")
)

// settle takes a report: the update or the fallback is accepted, or else the turn fails.
func (t *turn[S]) settle(ctx context.Context, r report[S]) error {
	v := r.visit
	if v.settled {
		return nil
	}
	if ctx.Err() != nil {
		t.leave(v, context.Cause(ctx), false)
		return cancelled(ctx)
	}
	err := v.reason(r.err)
	fallback := v.node.fallback
	t.leave(v, err, err != nil && fallback != nil)
	if err != nil {
		if fallback == nil {
			return &NodeError{v.node.name, err}
		}
		r.update = fallback(*t.g.schema.copyOf(v.view), err)
		if t.g.warn != nil {
			r.update = append(slices.Clip(r.update), t.g.warn(v.node.name, err))
		}
	}
	if err := t.accept(v, r.update); err != nil {
		return &NodeError{v.node.name, err}
	}
	return nil
}

// accept takes the update of a visit and leads on from it.
func (t *turn[S]) accept(v *visit[S], u Update[S]) error {
	u, err := t.g.schema.checked(u)
	if err != nil {
		return err
	}
	for _, w := range u {
		if err := t.own(v, w.column()); err != nil {
			return err
		}
	}
	v.settled, v.writes = true, u
	if v.after = v.view; len(u) > 0 {
		v.after = t.g.schema.applied(v.view, u)
	}
	next, err := t.next(v)
	for _, to := range next {
		if to != end {
			t.arrivals[to] = append(t.arrivals[to], v)
			t.waiting.add(to)
		}
	}
	return err
}

// own makes a visit the writer of a field, if the field has one and it is no visit that runs beside this one.
func (t *turn[S]) own(v *visit[S], c Column[S]) error {
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

// next returns the nodes that a visit leads to.
func (t *turn[S]) next(v *visit[S]) ([]int, error) {
	n := v.node
	if n.choose == nil {
		return n.always, nil
	}
	names := n.choose(*t.g.schema.copyOf(v.after))
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

// arrive makes the visit of a node that others have led to.
func (t *turn[S]) arrive(n *Node[S], from []*visit[S]) *visit[S] {
	v := &visit[S]{node: n, number: len(t.visits), step: stepAfter(from)}
	for _, f := range from {
		v.past.addAll(f.past)
		v.past.add(f.number)
	}
	t.visits = append(t.visits, v)
	return v
}

// stepAfter returns the step of a node that these visits have led to; without any it is that of Start.
func stepAfter[S any](from []*visit[S]) int {
	step := 0
	for _, f := range from {
		step = max(step, f.step+1)
	}
	return step
}

// view returns the state that a visit reads.
func (t *turn[S]) view(v *visit[S], from []*visit[S]) *S {
	if len(from) == 1 {
		return from[0].after
	}
	return t.g.schema.applied(t.base, t.ordered(v.past)...)
}

// ordered returns the updates of settled visits by step and name, which is the order in which they count.
func (t *turn[S]) ordered(numbers bits) []Update[S] {
	var visits []*visit[S]
	for n := range numbers.all {
		if v := t.visits[n]; len(v.writes) > 0 {
			visits = append(visits, v)
		}
	}
	slices.SortFunc(visits, func(a, b *visit[S]) int {
		return cmp.Or(cmp.Compare(a.step, b.step), cmp.Compare(a.node.index, b.node.index))
	})
	updates := make([]Update[S], len(visits))
	for i, v := range visits {
		updates[i] = v.writes
	}
	return updates
}

// updates returns those of all visits.
func (t *turn[S]) updates() []Update[S] {
	var all bits
	for _, v := range t.visits {
		all.add(v.number)
	}
	return t.ordered(all)
}

// writes returns all that the turn has written, in the order in which it counts.
func (t *turn[S]) writes() Update[S] { return slices.Concat(t.updates()...) }

// kept returns the writes to fields that outlive a failure.
func (t *turn[S]) kept() Update[S] {
	return slices.DeleteFunc(t.writes(), func(w Write[S]) bool { return !w.column().about().kept })
}
