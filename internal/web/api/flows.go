package api

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/flow"
	"github.com/rehearse-dev/rehearse/internal/run/store"
)

// FlowsConfig is what a server of flows uses. Only Engine is required.
type FlowsConfig struct {
	Engine *flow.Engine
	// Library holds the flows that are listed and that kept conversations use; nil means the engine's own.
	Library *flow.Library
	// Log gets a line for each turn, with its IDs but without its text; nil discards it.
	Log *slog.Logger
	// Now is the clock of conversations; nil means time.Now.
	Now func() time.Time

	// MaxTurns is the number of concurrent turns (256), MaxSockets that of open WebSockets (256).
	MaxTurns, MaxSockets int
	// MaxConversations is the number of kept conversations (10,000), MaxBytes the total size of their texts (512 MB).
	MaxConversations, MaxBytes int
	// Conversations keeps conversations for all servers of a store; nil keeps them in this process, until it ends.
	Conversations ConversationStore
	// Idle is the time without a message after which a conversation is dropped and a WebSocket is closed (1 h).
	Idle time.Duration
}

// Flows serves flows as agents. POST /execute takes a turn for callers that keep the state themselves. /internal/agent/test does the same
// for tests, honours sampling parameters, and also works over a WebSocket. /api/v1/conversations keeps the state for callers, and
// /api/v1/flows lists the flows. It is safe for concurrent use. Put it behind Front, which checks access.
type Flows struct {
	FlowsConfig
	turnstile
	routes        http.Handler
	sockets       gate
	conversations keeper
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
		FlowsConfig: c, turnstile: newTurnstile(c.Log, cmp.Or(c.MaxTurns, 256)),
		sockets: make(gate, cmp.Or(c.MaxSockets, 256)),
		conversations: newShelf(c.Now, c.Idle, cmp.Or(c.MaxConversations, 10_000),
			cmp.Or(c.MaxBytes, 512<<20)),
	}
	if c.Conversations != nil {
		s.conversations = &storeKeeper{
			store: c.Conversations, server: s, bounds: store.ConversationLimit{
				Most: cmp.Or(c.MaxConversations, 10_000), MaxBytes: cmp.Or(c.MaxBytes, 512<<20), Idle: c.Idle,
			},
		}
	}
	s.routes = s.table().handler()
	return s
}

func (s *Flows) table() table {
	return table{
		"/execute":                                         {http.MethodPost: tests(s.execute)},
		"/internal/agent/test":                             {http.MethodPost: tests(s.executeTrusted), http.MethodGet: tests(s.socket)},
		"/api/v1/flows":                                    {http.MethodGet: reads(withoutQuery(s.listFlows))},
		"/api/v1/flows/{flow_id}":                          {http.MethodGet: reads(withoutQuery(s.showFlow))},
		"/api/v1/flows/{flow_id}/drawing":                  {http.MethodGet: reads(s.drawFlow)},
		"/api/v1/conversations":                            {http.MethodPost: tests(s.beginConversation)},
		"/api/v1/conversations/{conversation_id}":          {http.MethodGet: tests(s.showConversation), http.MethodDelete: tests(s.endConversation)},
		"/api/v1/conversations/{conversation_id}/messages": {http.MethodPost: tests(s.say)},
		"/api/v1/conversations/{conversation_id}/reset":    {http.MethodPost: tests(s.resetConversation)},
	}
}

// ServeHTTP answers a request.
func (s *Flows) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.routes.ServeHTTP(w, r) }

// Drain refuses new turns and waits for those under way, until ctx ends. WebSockets are closed after their turn.
// Call it once.
func (s *Flows) Drain(ctx context.Context) error {
	s.stop()
	return errors.Join(s.places.drain(ctx), s.sockets.drain(ctx))
}
