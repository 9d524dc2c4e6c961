package flow

import (
	"context"
	"slices"
)

// Seed is the beginning of a conversation. The zero value is the flow's own beginning.
type Seed struct {
	Node    string
	Memory  Memory
	History []Message

	ConversationID, TestCaseID string
	KnowledgeBases             []string
	Pipeline                   *MemoryPipeline
	Limits                     Limits
	// Stubs answer in place of what the flow calls, for the whole conversation.
	Stubs Stubs
	// Model holds sampling parameters; nil leaves them to the engine.
	Model *ModelParams
}

// Session is one conversation in this process. It carries the state from turn to turn, and the cost of a turn does not
// grow with the conversation. Only one goroutine at a time may use it.
type Session struct {
	engine *Engine
	flow   *Flow
	next   Context
	done   bool
}

// Begin opens a conversation along a flow. The error is an *Error.
func (e *Engine) Begin(f *Flow, s Seed) (*Session, error) {
	if s.Node == "" {
		s.Node = f.Start.ID
	}
	if _, ok := f.Node(s.Node); !ok {
		return nil, notFound("/current_node_id", "use the id of a node of the flow", "flow %q has no node %q",
			f.ID, s.Node)
	}
	return &Session{engine: e, flow: f, next: Context{
		ConversationID: s.ConversationID, TestCaseID: s.TestCaseID, CurrentNodeID: s.Node,
		History: numbered(s.History), isNumbered: true, Memory: s.Memory, MemoryPipeline: s.Pipeline,
		KnowledgeBases: s.KnowledgeBases, Limits: s.Limits, Model: s.Model, Stubs: s.Stubs,
	}}, nil
}

// Resume goes on with a conversation whose state Context returned, and which was completed or not. The error is an
// *Error: the flow may have changed since.
func (e *Engine) Resume(f *Flow, state Context, completed bool) (*Session, error) {
	if _, ok := f.Node(state.CurrentNodeID); !ok {
		return nil, notFound("/current_node_id", "begin another conversation", "flow %q has no node %q any more", f.ID,
			state.CurrentNodeID)
	}
	state.History, state.isNumbered = numbered(state.History), true
	return &Session{engine: e, flow: f, next: state, done: completed}, nil
}

// Context returns the state before the next turn. It is shared; do not change it.
func (s *Session) Context() Context { return s.next }

// Completed reports whether the flow has ended.
func (s *Session) Completed() bool { return s.done }

// Send takes one turn. After an error, the conversation is unchanged.
// The result shares its history with the session: only read it, and only before the next turn.
func (s *Session) Send(ctx context.Context, message string, o Options) (*Result, error) {
	if s.done {
		return nil, &Error{Fault: Over, Message: "the flow is already completed", Hint: "start a new conversation"}
	}
	c := s.next
	c.LatestUserMessage = message
	c.Stubs = c.Stubs.With(o.Stubs)
	o.Trusted = true // the session's owner set the parameters
	r, exchange, err := s.engine.turn(ctx, s.flow, &c, o)
	if err != nil {
		return nil, err
	}
	s.next.History = append(s.next.History, exchange...)
	s.next.Memory, s.next.Stubs = r.Memory, s.next.Stubs.After(r.ToolCalls, o.Stubs)
	s.done = r.FlowCompleted
	if r.CurrentNodeID != nil {
		s.next.CurrentNodeID = *r.CurrentNodeID
	}
	r.History = slices.Clip(s.next.History)
	return r, nil
}
