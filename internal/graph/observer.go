package graph

import (
	"context"
	"fmt"
	"time"
)

// Observer is told when nodes begin and end, for traces and metrics. Within a turn its calls come one at a time, and each beginning has
// its end, even when the node was cancelled. It must be quick: the turn waits for it.
type Observer interface {
	// NodeBegan returns the context that the node gets: ctx, or one made from it, such as one with a span.
	NodeBegan(ctx context.Context, v Visit) context.Context
	// NodeEnded gets the context that NodeBegan has returned.
	NodeEnded(ctx context.Context, v Visit)
}

// Visit is one execution of a node.
type Visit struct {
	Graph, Thread, Node string
	Turn                int // turns completed before this one
	Step                int // from 1
	Began               time.Time

	// Known at the end:
	Duration time.Duration
	Err      error // why the node failed, whether or not its fallback stood in
	FellBack bool
}

// NodeError is the failure of a node that has ended a turn.
type NodeError struct {
	Node string
	Err  error
}

// Error returns the node and what was wrong with it.
func (e *NodeError) Error() string { return fmt.Sprintf("node %q: %v", e.Node, e.Err) }

// Unwrap returns what was wrong.
func (e *NodeError) Unwrap() error { return e.Err }
