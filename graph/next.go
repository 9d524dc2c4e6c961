package graph

import (
	"cmp"
	"fmt"
	"slices"
)

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
			return nil, fmt.Errorf("its branch names %q, to which it may not lead (%s)", name,
				knownNames(t.g.namesOf(n.choices)))
		}
		if !slices.Contains(next, to) {
			next = append(next, to)
		}
	}
	return next, nil
}

// written returns the visits that have written something, in the order in which their writes count: by step, then by
// name, but those from before an edit first. It looks at those whose numbers are among some, or at all when that is
// nil.
func (t *turn[S]) written(among *bits) []*visit[S] {
	visits := make([]*visit[S], 0, len(t.visits))
	for _, v := range t.visits {
		if len(v.writes) > 0 && (among == nil || among.has(v.number)) {
			visits = append(visits, v)
		}
	}
	slices.SortFunc(visits, func(a, b *visit[S]) int {
		return cmp.Or(cmp.Compare(a.edits, b.edits), cmp.Compare(a.step, b.step),
			cmp.Compare(a.node.index, b.node.index))
	})
	return visits
}

// merged returns the writes of visits in the order of written, with the first edits of the turn between them.
func (t *turn[S]) merged(visits []*visit[S], edits int) Update[S] {
	var u Update[S]
	edited := 0
	for _, v := range visits {
		for ; edited < v.edits; edited++ {
			u = append(u, t.edits[edited]...)
		}
		u = append(u, v.writes...)
	}
	for ; edited < edits; edited++ {
		u = append(u, t.edits[edited]...)
	}
	return u
}

// after returns the state after visits in the order of written and the first edits of the turn. It starts from the last
// visit that all others come before or after, because the state of that one has all writes up to it.
func (t *turn[S]) after(visits []*visit[S], edits int) *S {
	state, first := t.base, 0
	if len(t.edits) > 0 {
		return t.g.schema.applied(state, t.merged(visits, edits))
	}
	for i, v := range slices.Backward(visits) {
		if divides(visits, i) {
			state, first = t.stateAfter(v), i+1
			break
		}
	}
	return t.g.schema.applied(state, t.merged(visits[first:], 0))
}

// stateAfter returns the state after a visit whose writes count. It is made when it is first needed: where nodes that
// ran side by side lead to one, nobody reads the states after each of them.
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
