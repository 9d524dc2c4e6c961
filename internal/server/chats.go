package server

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"rehearse/internal/sitebot"
)

// Chatbot answers visitors of sites. It is safe for concurrent use; its errors are of the type *sitebot.Error.
type Chatbot interface {
	// Turn answers one message. It passes the pieces of the answer to sink as they come; one goroutine at a time calls sink.
	Turn(ctx context.Context, r sitebot.Request, sink func(sitebot.Event)) (*sitebot.Outcome, error)
	// State returns the session's state as a JSON object of state fields. During a turn, it is the state before the turn.
	// sink may call it.
	State(ctx context.Context, site, session string) (json.RawMessage, error)
	// UpdateState injects state through the reducers into the session's state; with replace, into an empty state.
	UpdateState(ctx context.Context, site, session string, patch json.RawMessage, replace bool) error
}

// ChatsConfig is what a server of chatbots uses. Only Bot is required.
type ChatsConfig struct {
	Bot Chatbot
	// Log gets a line for each turn, with its IDs but without its text; nil discards it.
	Log *slog.Logger

	// Token admits requests that send it as a bearer token. Programs of this machine do not need it.
	Token string
	// Public lets everyone talk, like visitors of a website. Sessions' states stay restricted to this machine and bearers of the token.
	Public bool
	// Origins are the sites whose pages may call the chat and show it in a frame, such as https://www.acme.example. Without any,
	// only the server's own page may.
	Origins []string
	// TrustedProxies are the proxies whose X-Forwarded-For is believed. Without any, a visitor's address is the peer's.
	TrustedProxies []netip.Prefix

	// MaxTurns is the number of concurrent turns (256), MaxTime the time limit of a turn (2 min).
	MaxTurns int
	MaxTime  time.Duration
}

// Chats serves chatbots to visitors of websites. POST /api/v1/chat takes a turn, GET /chat/{site_name} is a page to talk on, /chat.js embeds
// that page in other pages, and /api/v1/chat/{site_name}/{session_id}/state shows and injects state for tests. It is safe for concurrent
// use. It checks access itself, by the rules of Front, so that it can be public while the rest of a server is not.
type Chats struct {
	ChatsConfig
	turnstile
	visitors http.Handler
	testers  http.Handler
}

// NewChats returns a server of chatbots. It returns an error for an invalid origin. End it with Drain.
func NewChats(c ChatsConfig) (*Chats, error) {
	c.Log = logOrDiscard(c.Log)
	c.MaxTime = cmp.Or(c.MaxTime, 2*time.Minute)
	s := &Chats{ChatsConfig: c, turnstile: newTurnstile(c.Log, cmp.Or(c.MaxTurns, 256))}
	pages, err := pagesOf(c.Origins)
	if err != nil {
		return nil, err
	}
	front := FrontConfig{Token: c.Token, Log: c.Log}
	s.visitors = &visitorDoor{front: newFront(front), public: c.Public, inside: pages.Handler(table{
		"/api/v1/chat":        {http.MethodPost: s.chat, http.MethodOptions: s.preflight},
		"/chat/{site_name}":   {http.MethodGet: s.page},
		"/chat/assets/{file}": {http.MethodGet: s.asset},
		"/chat.js":            {http.MethodGet: s.widget},
	}.handler())}
	s.testers = Front(table{
		"/api/v1/chat/{site_name}/{session_id}/state": {http.MethodGet: s.showState, http.MethodPatch: s.injectState},
	}.handler(), front)
	return s, nil
}

// ServeHTTP answers a request.
func (s *Chats) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/api/v1/chat/") {
		s.testers.ServeHTTP(w, r)
		return
	}
	s.visitors.ServeHTTP(w, r)
}

// Beside serves the paths of chats and passes all others to next.
func (s *Chats) Beside(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := r.URL.Path
		if path == "/api/v1/chat" || path == "/chat.js" || strings.HasPrefix(path, "/api/v1/chat/") || strings.HasPrefix(path, "/chat/") {
			s.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Drain refuses new turns and waits for those under way, until ctx ends. Call it once.
func (s *Chats) Drain(ctx context.Context) error {
	s.stop()
	return s.places.drain(ctx)
}
