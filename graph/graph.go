package graph

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"
)

const (
	// grace is how long a turn waits for nodes and tasks that it has told to stop.
	grace = time.Second
	// saveLimit bounds the time that it takes to save a turn, which a client that has gone does not cut short.
	saveLimit = 10 * time.Second
)

// Graph runs turns. It is safe for concurrent use; of two turns of one thread at the same time the later one fails with
// ErrConflict.
type Graph[S any] struct {
	name     string
	schema   *schema[S]
	nodes    []*Node[S] // by name, after Start
	byName   map[string]int
	steps    int
	warn     func(node string, err error) Write[S]
	store    Checkpointer
	saver    StepSaver // the store, nil when it keeps no steps
	peeker   Peeker    // the store, nil when it is none
	durable  bool
	observer Observer
	log      *slog.Logger
	tasks    atomic.Int64
	recall   recall[S]
}

// Run takes one turn of a thread: it applies the input to the newest state, runs the graph from Start, saves once, and
// returns the state. What streaming nodes write goes to the sink; nil throws it away. When Run returns, nothing of the
// turn writes any more.
//
// After an error the thread is as it was before, except for writes to Kept fields, which make a checkpoint that counts
// no turn. The error is a *NodeError when a node has failed, and wraps ErrConflict when the thread has moved on
// meanwhile. An *InterruptError says that a node asks a person something, and the turn waits for Resume; until then Run
// fails with ErrWaiting.
//
// With Config.Durable a turn that has failed or was cut short goes on when its thread is given an equal input, or by
// Continue: nodes that had settled are not run again. Any other input drops it.
func (g *Graph[S]) Run(ctx context.Context, thread string, input Update[S], sink TokenSink) (S, error) {
	return g.turn(ctx, thread, attempt[S]{input: input, sink: sink})
}

// RunFrom is Run with an input that depends on the state before the turn, which is read only once. An error of look
// ends it before anything has happened. What look is given and what RunFrom returns are shared with the graph and with
// later turns: nobody may change what they refer to.
func (g *Graph[S]) RunFrom(ctx context.Context, thread string, look func(Checkpoint[S]) (Update[S], error),
	sink TokenSink) (S, error) {
	return g.turn(ctx, thread, attempt[S]{look: look, sink: sink})
}

// Tasks returns how many background tasks are running in all turns.
func (g *Graph[S]) Tasks() int { return int(g.tasks.Load()) }

// ErrPanic is the failure of a node, a task or a function of the graph that has panicked.
var ErrPanic = errors.New("panicked")

// try calls foreign code; a panic becomes an error, and its stack goes to the log, with the context that says what it
// is about and what is secret. Names are those of nodes: the name of a thread may open a conversation.
func try(ctx context.Context, log *slog.Logger, what, name string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			log.ErrorContext(ctx, "panic", what, name, "value", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = fmt.Errorf("%w: %v", ErrPanic, p)
		}
	}()
	return f()
}

// Observer is told when nodes begin and end, for traces and metrics. Within a turn its calls come one at a time, and
// each beginning has its end, even when the node was cancelled. It must be quick: the turn waits for it.
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
	Attempt             int // from 1, see Node.Retry
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
