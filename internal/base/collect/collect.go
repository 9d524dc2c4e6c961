// Package collect gathers what is kept of a conversation beside its record: what its target and its judges were sent,
// and what they answered.
//
// A Collector travels in the context of one conversation, with the turn that is under way. A turn is graded while the
// next one is asked, so the turn is the context's, not the collector's. Without a collector nothing is gathered, and
// nothing is made for it.
package collect

import (
	"context"
	"sync"
)

// The kinds of pieces.
const (
	Prompt      = "prompt"       // what the target, or a model inside it, was sent
	Exchange    = "exchange"     // a request to an agent behind HTTP and its answer, as they went over the wire
	ToolResult  = "tool_result"  // a call of a tool with its result
	MemoryDelta = "memory_delta" // what a turn changed in a flow's memory
	JudgePrompt = "judge_prompt" // what a judge was sent
	JudgeReply  = "judge_reply"  // what it answered
)

// Piece is one thing that was gathered. It holds secrets still.
type Piece struct {
	// Turn counts from 1; 0 stands for the whole conversation.
	Turn int
	Kind string
	Data []byte
}

// maxWaiting is how much waits until the conversation has ended, in bytes. What is more is kept at once, which takes
// time from the turn.
const maxWaiting = 8 << 20

// Collector gathers the pieces of one conversation. It is safe for concurrent use. Use New; Close or Drop it.
type Collector struct {
	mu      sync.Mutex
	keep    func(Piece)
	waiting []Piece
	size    int
	// prompted are the turns that have a prompt.
	prompted map[int]bool
	closed   bool
}

// New returns a collector that gives each piece to keep, in the order of gathering and one at a time.
func New(keep func(Piece)) *Collector { return &Collector{keep: keep, prompted: map[int]bool{}} }

// Close keeps what waits. What comes later, of a call that nobody waited for, is dropped.
func (c *Collector) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.flush()
	c.closed = true
}

// Drop forgets what waits, of a conversation without a record.
func (c *Collector) Drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting, c.closed = nil, true
}

func (c *Collector) flush() {
	for _, p := range c.waiting {
		c.keep(p)
	}
	c.waiting, c.size = nil, 0
}

func (c *Collector) put(p Piece) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	if p.Kind == Prompt {
		c.prompted[p.Turn] = true
	}
	c.waiting, c.size = append(c.waiting, p), c.size+len(p.Data)
	if c.size > maxWaiting {
		c.flush()
	}
}

// scene is where in a conversation a context is.
type scene struct {
	to   *Collector
	turn int
	// grading is true where the models that are asked are judges.
	grading bool
}

type sceneKey struct{}

func sceneOf(ctx context.Context) scene {
	s, _ := ctx.Value(sceneKey{}).(scene)
	return s
}

// In returns the context of a conversation whose pieces the collector gathers.
func (c *Collector) In(ctx context.Context) context.Context {
	return context.WithValue(ctx, sceneKey{}, scene{to: c})
}

// Turn returns the context of a turn of the target. Turns count from 1.
func Turn(ctx context.Context, turn int) context.Context { return at(ctx, turn, false) }

// Grading returns the context in which a turn is graded, or with 0 the whole conversation.
func Grading(ctx context.Context, turn int) context.Context { return at(ctx, turn, true) }

func at(ctx context.Context, turn int, grading bool) context.Context {
	s := sceneOf(ctx)
	if s.to == nil {
		return ctx
	}
	return context.WithValue(ctx, sceneKey{}, scene{s.to, turn, grading})
}

// Aside returns a context in which nothing is gathered, for a model that plays the user.
func Aside(ctx context.Context) context.Context {
	if sceneOf(ctx).to == nil {
		return ctx
	}
	return context.WithValue(ctx, sceneKey{}, scene{})
}

// Put gathers a piece of a kind. The data is only made where something is gathered.
func Put(ctx context.Context, kind string, data func() []byte) {
	if s := sceneOf(ctx); s.to != nil {
		s.to.put(Piece{s.turn, kind, data()})
	}
}

// Request gathers what a model was asked: a judge where a turn is graded, else the target or a model inside it.
func Request(ctx context.Context, request func() []byte) {
	kind := Prompt
	if sceneOf(ctx).grading {
		kind = JudgePrompt
	}
	Put(ctx, kind, request)
}

// Answered gathers what a judge answered. The target's reply is in the record.
func Answered(ctx context.Context, reply string) {
	if sceneOf(ctx).grading {
		Put(ctx, JudgeReply, func() []byte { return []byte(reply) })
	}
}

// Note gathers the user's message as the prompt of a turn in which no other was gathered: the target asked no model.
func Note(ctx context.Context, message string) {
	s := sceneOf(ctx)
	if s.to == nil {
		return
	}
	s.to.mu.Lock()
	known := s.to.prompted[s.turn]
	s.to.mu.Unlock()
	if !known {
		Put(ctx, Prompt, func() []byte { return []byte(message) })
	}
}

// Conversing reports whether the target's part of a conversation is gathered here.
func Conversing(ctx context.Context) bool {
	s := sceneOf(ctx)
	return s.to != nil && !s.grading
}
