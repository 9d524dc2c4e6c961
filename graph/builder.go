package graph

import (
	"context"
	"fmt"
	"time"
)

// DefaultSteps is how many steps a turn may take unless Builder.Steps says otherwise.
const DefaultSteps = 25

// Builder collects the definition of a graph. Compile reports its mistakes, all at once.
type Builder[S any] struct {
	name     string
	columns  []Column[S]
	nodes    map[string]*Node[S]
	edges    []edge[S] // resolved by Compile, so that they may come before their nodes
	steps    int
	warn     func(node string, err error) Write[S]
	problems []error
}

type edge[S any] struct {
	from   string
	to     []string
	branch bool
	choose func(S) []string
}

// New begins a graph whose state has these fields. Every field of S is declared, once.
func New[S any](name string, fields ...Column[S]) *Builder[S] {
	return &Builder[S]{
		name: name, columns: fields, steps: DefaultSteps,
		nodes: map[string]*Node[S]{Start: {name: Start}},
	}
}

// Node adds a node. Its function reads a snapshot and returns what it changes. The snapshot is a copy, so its fields
// may be set without any effect and its slices appended to. What they refer to is shared and must not be changed (see
// Config.Guard). The function must return soon after ctx is done.
func (b *Builder[S]) Node(name string, work func(ctx context.Context, s S) (Update[S], error)) *Node[S] {
	if work == nil {
		return b.add(name, nil)
	}
	return b.add(name, func(ctx context.Context, s S, _ TokenSink) (Update[S], error) { return work(ctx, s) })
}

// Streaming adds a node that writes to the client; other nodes cannot. Two streaming nodes never run side by side:
// their tokens would mix.
func (b *Builder[S]) Streaming(name string,
	work func(ctx context.Context, s S, out TokenSink) (Update[S], error)) *Node[S] {
	n := b.add(name, work)
	n.streams = true
	return n
}

func (b *Builder[S]) add(name string, work func(context.Context, S, TokenSink) (Update[S], error)) *Node[S] {
	n := b.declareNode(name)
	n.work = work
	if work == nil {
		b.problem("node %q has no function", name)
	}
	return n
}

// declareNode adds a node that has no function yet.
func (b *Builder[S]) declareNode(name string) *Node[S] {
	n := &Node[S]{name: name, limit: DefaultLimit}
	switch _, taken := b.nodes[name]; {
	case name == "" || name == Start || name == End:
		b.problem("a node cannot be called %q: choose another name", name)
	case taken:
		b.problem("two nodes are called %q: rename one", name)
	}
	if _, taken := b.nodes[name]; !taken {
		b.nodes[name] = n
	}
	return n
}

// Edge leads from a node to others: after it, all of them run.
func (b *Builder[S]) Edge(from string, to ...string) {
	b.edges = append(b.edges, edge[S]{from: from, to: to})
}

// Branch leads from a node to the one of several that the function names. It reads the state after the node, is quick
// and does no I/O.
func (b *Builder[S]) Branch(from string, choose func(s S) string, to ...string) {
	if choose == nil {
		b.Fan(from, nil, to...)
		return
	}
	b.Fan(from, func(s S) []string { return []string{choose(s)} }, to...)
}

// Fan leads from a node to those of several that the function names, at least one; End is the way to none.
func (b *Builder[S]) Fan(from string, choose func(s S) []string, to ...string) {
	b.edges = append(b.edges, edge[S]{from: from, to: to, branch: true, choose: choose})
}

// Steps bounds the steps of a turn, which ends loops that do not end themselves.
func (b *Builder[S]) Steps(limit int) { b.steps = limit }

// Warn adds a write to the update of every fallback, such as a warning in the state. The error is for people who run
// the program.
func (b *Builder[S]) Warn(write func(node string, err error) Write[S]) { b.warn = write }

func (b *Builder[S]) problem(format string, args ...any) {
	b.problems = append(b.problems, fmt.Errorf(format, args...))
}

// Start and End are the places where a turn begins and ends. They are not nodes: nothing runs there.
const (
	Start = "START"
	End   = "END"
)

// DefaultLimit is the time that a node has unless its Limit says otherwise.
const DefaultLimit = 2 * time.Minute

// TokenSink takes a piece of the answer as soon as a streaming node has it. It must return once ctx is done.
type TokenSink func(ctx context.Context, text string) error

// Node is a step of a graph as it is defined. Its methods return it, so that they can be chained.
type Node[S any] struct {
	name     string
	work     func(ctx context.Context, s S, out TokenSink) (Update[S], error)
	streams  bool
	limit    time.Duration
	fallback func(s S, err error) Update[S] // nil when a failure ends the turn
	retry    *RetryPolicy                   // nil when it is tried once

	// inner is what a node of Each or Sub does instead of work.
	inner    func(t *turn[S], v *visit[S], ctx *nodeContext) (Update[S], error)
	sub      drawable // the graph of Sub
	each     bool
	parallel int // 0 unless Parallel was called

	// Compile fills in the rest.
	index   int
	always  []int            // where its edges lead
	choose  func(S) []string // nil without a branch
	choices []int            // where its branch may lead
	before  bits             // the nodes that can lead here, directly or not
}

// end stands for End among the indices of nodes.
const end = -1

// Limit bounds the time of the node. When it is over, the node's context is done and the node has failed. What it
// returns or writes afterwards is lost.
func (n *Node[S]) Limit(d time.Duration) *Node[S] {
	n.limit = d
	return n
}

// OrElse keeps the turn going when the node returns an error, panics or runs out of time: the function makes an update
// from the snapshot and the failure, which is used instead of the node's, with the write of Builder.Warn. A nil
// function makes no update. The function is quick and does no I/O.
func (n *Node[S]) OrElse(fallback func(s S, err error) Update[S]) *Node[S] {
	if fallback == nil {
		fallback = func(S, error) Update[S] { return nil }
	}
	n.fallback = fallback
	return n
}
