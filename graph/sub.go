package graph

import (
	"errors"
	"slices"
)

// drawable is a graph of any state.
type drawable interface {
	Drawing() Drawing
}

// Sub adds a node that runs another graph. Its input is made of the snapshot, and what it ends with makes the update;
// its state lives for the turn and is saved nowhere else. Its nodes are told to the Observer, drawn and kept as steps
// as "name/node", and their questions are those of the turn. It streams when one of its nodes does. Its own Config does
// not count, but for Guard; tasks belong to the graph in which they were started. Limit bounds the whole subgraph.
func Sub[S, T any](b *Builder[S], name string, sub *Graph[T], in func(s S) Update[T],
	out func(s S, t T) Update[S]) *Node[S] {
	n := b.declareNode(name)
	if sub == nil || in == nil || out == nil {
		b.problem("node %q needs a graph, a function for its input and one for what it ends with", name)
		n.inner = func(*turn[S], *visit[S], *nodeContext) (Update[S], error) {
			return nil, errors.New("it has no graph")
		}
		return n
	}
	n.sub = sub
	n.streams = slices.ContainsFunc(sub.nodes, func(n *Node[T]) bool { return n.streams })
	n.inner = func(t *turn[S], v *visit[S], ctx *nodeContext) (u Update[S], err error) {
		var input Update[T]
		if err := t.g.schema.lend(v.view, func(s S) { input = slices.Clone(in(s)) }); err != nil {
			return nil, err
		}
		var sink TokenSink
		if v.out != nil {
			sink = v.out.write
		}
		inner := newTurn(sub, t.activeRun, sub.schema.opened(*new(T)), sink)
		inner.path, inner.at = v.info.Node+"/", ctx.at.at()+"."
		end, _, err := inner.hold(ctx, input)
		switch {
		case errors.Is(err, errParked):
			ctx.at.wait()
			return nil, err
		case err != nil:
			return nil, err
		}
		own := sub.schema.copyOf(end)
		err = t.g.schema.lend(v.view, func(s S) { u = slices.Clone(out(s, *own)) })
		return u, err
	}
	return n
}
