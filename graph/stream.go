package graph

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// Mode is a kind of events.
type Mode string

// The kinds of events.
const (
	Tokens  Mode = "tokens"  // Text: a piece of the answer, from a streaming node
	Updates Mode = "updates" // Update: what a node has written, once it has settled
	Values  Mode = "values"  // State: the state after a step
	Custom  Mode = "custom"  // Value: what a node gave to Emit
	Tools   Mode = "tools"   // Tool: what a node gave to EmitTool
)

// Event is something that happens in a turn. Only what belongs to its Mode is filled in.
type Event[S any] struct {
	Mode Mode
	Node string // "name/node" within a subgraph; empty for Values
	Step int    // of the node within its graph
	Text string
	// one object of the fields written; the items that were added to a list, or what else was done to it
	Update json.RawMessage
	State  *S
	Value  any
	Tool   *ToolEvent
}

// ToolEvent is a call of a tool: without Result and Err when it begins, with one of them when it ends.
type ToolEvent struct {
	ID, Name     string
	Args, Result json.RawMessage
	Err          string
}

// Stream takes a turn as Run does, and tells what happens meanwhile: the modes that are named, or all. It calls to one
// at a time; the events of a node come in their order, its Updates last. An error of to ends the turn. When Stream
// returns, to is not called any more.
func (g *Graph[S]) Stream(ctx context.Context, thread string, input Update[S], to func(Event[S]) error,
	modes ...Mode) (S, error) {
	var none S
	if to == nil {
		return none, fmt.Errorf("graph %q: %w", g.name, errors.New("the stream has no function to be told"))
	}
	all := []Mode{Tokens, Updates, Values, Custom, Tools}
	for _, m := range modes {
		if !slices.Contains(all, m) {
			return none, fmt.Errorf("graph %q: there is no mode %q: name %v", g.name, m, all)
		}
	}
	if len(modes) == 0 {
		modes = all
	}
	events := &stream{modes: modes, to: func(h happening) error {
		e := Event[S]{
			Mode: h.mode, Node: h.node, Step: h.step, Text: h.text, Update: h.update, Value: h.value, Tool: h.tool,
		}
		if s, ok := h.state.(*S); ok {
			e.State = s
		}
		return try(ctx, g.log, "thread", "stream", func() error { return to(e) })
	}}
	defer events.end()
	var sink TokenSink
	if events.wants(Tokens) {
		sink = func(ctx context.Context, text string) error {
			at, err := positionOf(ctx)
			if err != nil {
				return err
			}
			return events.tell(happening{mode: Tokens, node: at.visit.Node, step: at.visit.Step, text: text})
		}
	}
	return g.turn(ctx, thread, attempt[S]{input: input, sink: sink, stream: events})
}

// happening is an event before its state has a type.
type happening struct {
	mode   Mode
	node   string
	step   int
	text   string
	update json.RawMessage
	state  any
	value  any
	tool   *ToolEvent
}

// stream tells somebody what happens in a turn, in order and one at a time. A nil stream tells nobody.
type stream struct {
	modes []Mode
	to    func(happening) error
	stop  func(cause error) // ends the turn

	telling sync.Mutex // held while to is called
	failed  error      // what to has returned; guarded by telling
	over    bool       // guarded by telling

	mu     sync.Mutex
	queued []happening // what is told before anything else
}

func (s *stream) wants(m Mode) bool { return s != nil && slices.Contains(s.modes, m) }

// line queues events. Unlike tell it never waits.
func (s *stream) line(events ...happening) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queued = append(s.queued, events...)
}

// tell tells what is queued, and then more.
func (s *stream) tell(more ...happening) error {
	s.telling.Lock()
	defer s.telling.Unlock()
	return s.telled(more)
}

func (s *stream) telled(more []happening) error {
	s.mu.Lock()
	events := append(s.queued, more...)
	s.queued = nil
	s.mu.Unlock()
	for _, e := range events {
		switch {
		case s.failed != nil:
			return s.failed
		case s.over:
			return ErrSettled
		}
		if err := s.to(e); err != nil {
			s.failed = fmt.Errorf("the stream was ended by its reader: %w", err)
			s.stop(s.failed)
			return s.failed
		}
	}
	return s.failed
}

// end makes the stream tell nothing any more.
func (s *stream) end() {
	s.telling.Lock()
	defer s.telling.Unlock()
	s.over = true
}

// Emit tells a stream of the mode Custom a value. Without such a stream it does nothing. After the node has settled it
// fails with ErrSettled.
func Emit(ctx context.Context, value any) error {
	return emit(ctx, happening{mode: Custom, value: value})
}

// EmitTool tells a stream of the mode Tools of a call of a tool: once without Result when it begins, once when it ends.
// It fails as Emit does.
func EmitTool(ctx context.Context, e ToolEvent) error {
	e.Args, e.Result = slices.Clone(e.Args), slices.Clone(e.Result)
	return emit(ctx, happening{mode: Tools, tool: &e})
}

func emit(ctx context.Context, h happening) error {
	at, err := positionOf(ctx)
	if err != nil {
		return err
	}
	if at.over() {
		return ErrSettled
	}
	s := at.activeRun.stream
	if at.ghost || !s.wants(h.mode) {
		return nil
	}
	h.node, h.step = at.visit.Node, at.visit.Step
	s.telling.Lock()
	defer s.telling.Unlock()
	if at.over() { // while others were told
		return ErrSettled
	}
	return s.telled([]happening{h})
}
