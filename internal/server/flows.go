package server

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"rehearse/internal/flow"
)

// FlowsConfig is what a server of flows works with. Only Engine is needed.
type FlowsConfig struct {
	Engine *flow.Engine
	// Library holds the flows that are listed, and along which the server keeps conversations; nil means the engine's own.
	Library *flow.Library
	// Log gets a line per turn, with its ids and never its text; nil discards it.
	Log *slog.Logger
	// Now is the clock of conversations; nil means time.Now.
	Now func() time.Time

	// MaxTurns is how many turns may be under way at once (256), MaxSockets how many WebSockets may be open (256).
	MaxTurns, MaxSockets int
	// MaxConversations is how many the server keeps at once (10,000), MaxBytes how much their texts may take together (512 MB).
	MaxConversations, MaxBytes int
	// Idle is after how long without a message a conversation is dropped and a WebSocket closed (1 h).
	Idle time.Duration
}

// Flows serves flows as agents: POST /execute takes a turn for callers who keep the state themselves, /internal/agent/test the same for
// tests, with the sampling parameters honoured, also over a WebSocket; /api/v1/conversations keeps the state for them, and
// /api/v1/flows tells what flows there are. It is safe for concurrent use. Stand it behind Front, which decides who may come in.
type Flows struct {
	FlowsConfig
	turnstile
	routes        http.Handler
	sockets       gate
	conversations *shelf
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
	s.routes = table{
		"/execute":                            {http.MethodPost: s.execute},
		"/internal/agent/test":                {http.MethodPost: s.executeTrusted, http.MethodGet: s.socket},
		"/api/v1/flows":                       {http.MethodGet: s.listFlows},
		"/api/v1/flows/{id}":                  {http.MethodGet: s.showFlow},
		"/api/v1/conversations":               {http.MethodPost: s.beginConversation},
		"/api/v1/conversations/{id}":          {http.MethodGet: s.showConversation, http.MethodDelete: s.endConversation},
		"/api/v1/conversations/{id}/messages": {http.MethodPost: s.say},
		"/api/v1/conversations/{id}/reset":    {http.MethodPost: s.resetConversation},
	}.handler()
	return s
}

// ServeHTTP answers a request.
func (s *Flows) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.routes.ServeHTTP(w, r) }

// Drain stops taking turns and waits for those under way, until ctx ends. WebSockets are closed when their turn is done.
// Call it once.
func (s *Flows) Drain(ctx context.Context) error {
	s.stop()
	return errors.Join(s.places.drain(ctx), s.sockets.drain(ctx))
}

// table maps paths and methods to handlers.
type table map[string]map[string]http.HandlerFunc

// handler answers other methods with 405 and other paths with 404, both as problem documents.
func (t table) handler() http.Handler {
	mux := http.NewServeMux()
	for path, methods := range t {
		allowed := make([]string, 0, len(methods))
		for method, handle := range methods {
			allowed = append(allowed, method)
			mux.HandleFunc(method+" "+path, handle)
		}
		slices.Sort(allowed)
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Allow", strings.Join(allowed, ", "))
			writeProblem(w, newProblem(http.StatusMethodNotAllowed, codeMethod, clean(r.Method)+" is not served at "+clip(r.URL.Path, maxDetail),
				"use "+strings.Join(allowed, " or ")))
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeProblem(w, newProblem(http.StatusNotFound, codeNotFound, "nothing is served at "+clip(r.URL.Path, maxDetail),
			"`rehearse serve --help` says what is"))
	})
	return mux
}
