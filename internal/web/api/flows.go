package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/fleet/access"
	"github.com/rehearse-dev/rehearse/internal/run/store"
)

// FlowsConfig is what a server of flows uses. Only Engine is required.
type FlowsConfig struct {
	Engine *flow.Engine
	// Library has the flows that are listed and that stored conversations use; nil means the engine's own.
	Library *flow.Library
	// Log gets a line for each turn, with its IDs but without its text; nil discards it.
	Log *slog.Logger
	// Now is the clock of conversations; nil means time.Now.
	Now func() time.Time

	// MaxTurns is the number of concurrent turns (256), MaxSockets that of open WebSockets (256).
	MaxTurns, MaxSockets int
	// MaxConversations is the number of stored conversations (10,000), MaxBytes the total size of their texts (512 MB).
	MaxConversations, MaxBytes int
	// Conversations stores conversations; nil stores them in this process, until it ends.
	Conversations ConversationStore
	// Idle is the time without a message after which a conversation is dropped and a WebSocket is closed (1 h).
	Idle time.Duration
}

// Flows serves flows as agents. POST /execute takes a turn for callers that keep the state themselves.
// /internal/agent/test does the same for tests, honours sampling parameters, and also works over a WebSocket.
// /api/v1/conversations keeps the state for callers, and /api/v1/flows lists the flows. It is safe for concurrent use.
// Put it behind Front, which checks access.
type Flows struct {
	FlowsConfig
	turnLimit
	sockets       gate
	conversations *conversationManager
}

// NewFlows returns a server of flows. End it with Drain.
func NewFlows(c FlowsConfig) *Flows {
	c.Log = logOrDiscard(c.Log)
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Library == nil {
		c.Library = c.Engine.Flows
	}
	c.Idle = cmp.Or(c.Idle, time.Hour)
	s := &Flows{
		FlowsConfig: c, turnLimit: newTurnLimit(c.Log, cmp.Or(c.MaxTurns, 256)),
		sockets: make(gate, cmp.Or(c.MaxSockets, 256)),
	}
	if c.Conversations == nil {
		c.Conversations = store.NewMemoryConversations(c.Now)
	}
	s.conversations = &conversationManager{store: c.Conversations, server: s, bounds: store.ConversationLimit{
		Most: cmp.Or(c.MaxConversations, 10_000), MaxBytes: cmp.Or(c.MaxBytes, 512<<20), Idle: c.Idle,
	}}
	return s
}

func (s *Flows) table() table {
	state, result := json.RawMessage(flow.ContextSchema()), json.RawMessage(flow.ResultSchema())
	return table{
		{
			pattern: "POST /execute", scope: access.Test, handle: s.execute, body: state,
			summary: "Take one turn of a conversation whose state the caller keeps",
			ok:      either{result, "text/event-stream"},
		},
		{
			pattern: "POST /internal/agent/test", scope: access.Test, handle: s.executeTrusted, body: state,
			summary: "The same with sampling parameters and tracing",
			ok:      either{result, "text/event-stream"},
		},
		{
			pattern: "GET /internal/agent/test", scope: access.Test, handle: s.socket,
			summary: "The same over a WebSocket", answers: answers{101: nil},
		},
		{
			pattern: "GET /api/v1/flows", scope: access.Read, handle: withoutQuery(s.listFlows),
			summary: "List flows", ok: flowsView{},
		},
		{
			pattern: "GET /api/v1/flows/{flow_id}", scope: access.Read, handle: withoutQuery(s.showFlow),
			summary: "A flow with its nodes", ok: flowView{},
		},
		{
			pattern: "GET /api/v1/flows/{flow_id}/drawing", scope: access.Read, handle: s.drawFlow,
			summary: "A picture of a flow: SVG, or Mermaid",
			ok:      either{mediaSVG, mediaMermaid},
		},
		{
			pattern: "POST /api/v1/conversations", scope: access.Test, handle: s.beginConversation,
			summary: "Begin a conversation", answers: answers{201: openingView{}},
			body: json.RawMessage(
				`{"type": "object", "properties": {"flow_id": {"type": "string"}}, "required": ["flow_id"]}`),
		},
		{
			pattern: "GET /api/v1/conversations/{conversation_id}", scope: access.Test, handle: s.showConversation,
			summary: "A conversation with its messages", ok: transcriptView{},
		},
		{
			pattern: "DELETE /api/v1/conversations/{conversation_id}", scope: access.Test, handle: s.endConversation,
			summary: "End a conversation", answers: answers{204: nil},
		},
		{
			pattern: "POST /api/v1/conversations/{conversation_id}/messages", scope: access.Test, handle: s.say,
			summary: "Say something", headers: []parameter{messageKey}, ok: either{replyView{}, "text/event-stream"},
			body: json.RawMessage(
				`{"type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"]}`),
		},
		{
			pattern: "POST /api/v1/conversations/{conversation_id}/reset", scope: access.Test,
			handle: s.resetConversation, summary: "Go back to the beginning", ok: openingView{},
		},
	}
}

// Drain refuses new turns and waits for those under way, until ctx ends. WebSockets are closed after their turn.
// Call it once.
func (s *Flows) Drain(ctx context.Context) error {
	s.stop()
	return errors.Join(s.places.drain(ctx), s.sockets.drain(ctx))
}
