package graph

import (
	"context"
	"time"
)

// The places where a turn begins and ends. They are not nodes: nothing runs there.
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

	// Compile fills in the rest.
	index   int
	always  []int            // where its edges lead
	choose  func(S) []string // nil without a branch
	choices []int            // where its branch may lead
	before  bits             // the nodes that can lead here, directly or not
}

// end stands for End among the indices of nodes.
const end = -1

// Limit bounds the time that the node has. When it is over, the node's context is done and the node has failed; what it still returns, or
// writes to its sink, goes nowhere.
func (n *Node[S]) Limit(d time.Duration) *Node[S] {
	n.limit = d
	return n
}

// OrElse keeps the turn going when the node fails, returning an error, panicking or running out of time: the update that the function makes
// of the snapshot and the failure takes the place of the node's own, with the warning of Builder.Warn. Nil stands for no update.
// The function is quick and does no I/O.
func (n *Node[S]) OrElse(fallback func(s S, err error) Update[S]) *Node[S] {
	if fallback == nil {
		fallback = func(S, error) Update[S] { return nil }
	}
	n.fallback = fallback
	return n
}
