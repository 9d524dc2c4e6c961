package api

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/rehearse-dev/rehearse/internal/agent/sitebot"
	"github.com/rehearse-dev/rehearse/internal/fleet/access"
)

// Chatbot answers visitors of sites. It is safe for concurrent use; its errors are of the type *sitebot.Error.
type Chatbot interface {
	// Turn answers one message. It passes the pieces of the answer to sink as they come; one goroutine at a time calls
	// sink.
	Turn(ctx context.Context, r sitebot.Request, sink func(sitebot.Event)) (*sitebot.Outcome, error)
	// State returns the session's state as a JSON object of state fields. During a turn, it is the state before the
	// turn. sink may call it.
	State(ctx context.Context, site, session string) (json.RawMessage, error)
	// UpdateState injects state through the reducers into the session's state; with replace, into an empty state.
	UpdateState(ctx context.Context, site, session string, patch json.RawMessage, replace bool) error
	// Erase forgets a session with all that it has left. A session that there is not is no error.
	Erase(ctx context.Context, site, session string) error
}

// ChatsConfig is what a server of chatbots uses. Only Bot and Operator are required.
type ChatsConfig struct {
	Bot Chatbot
	// Operator shows the sessions of the bot.
	Operator Operator
	// Sites have pages to talk on; without them there are none.
	Sites ChatSites
	// Log gets a line for each turn, with its IDs but without its text; nil discards it.
	Log *slog.Logger

	// Public lets everyone talk, like visitors of a website. Sessions' states stay closed to them.
	Public bool
	// Origins are the sites whose pages may call the chat and show it in a frame, such as https://www.acme.example.
	// Without any, only the server's own page may.
	Origins []string
	// TrustedProxies are the proxies whose X-Forwarded-For is believed. Without any, a visitor's address is the peer's.
	TrustedProxies []netip.Prefix

	// SessionKey signs session ids that a site's owner has chosen; without one, visitors' ids have
	// to be hard to guess.
	SessionKey []byte
	// MaxTurns is the number of concurrent turns (256), MaxTime the time limit of a turn (2 min).
	MaxTurns int
	MaxTime  time.Duration
}

// Chats serves chatbots to visitors of websites, and their sessions to tests and operators. It is safe for concurrent
// use. Put it behind Front, which checks access and calls Open for requests of visitors. It rejects pages of other
// sites itself, except for the origins.
type Chats struct {
	ChatsConfig
	turnLimit
	public   *http.ServeMux // the routes that can be public
	visitors http.Handler   // the same, for pages of the origins
	testers  http.Handler

	addresses addresses // of visitors
}

// NewChats returns a server of chatbots. It returns an error for an invalid origin. End it with Drain.
func NewChats(c ChatsConfig) (*Chats, error) {
	c.Log = logOrDiscard(c.Log)
	c.MaxTime = cmp.Or(c.MaxTime, 2*time.Minute)
	s := &Chats{ChatsConfig: c, turnLimit: newTurnLimit(c.Log, cmp.Or(c.MaxTurns, 256))}
	pages, err := pagesOf(c.Origins)
	if err != nil {
		return nil, err
	}
	var public, others table
	for _, r := range s.table() {
		if r.public {
			public = append(public, r)
		} else {
			others = append(others, r)
		}
	}
	s.public = public.mux()
	s.visitors = pages.Handler(s.public)
	s.testers = ownPages().Handler(others.handler())
	return s, nil
}

func (s *Chats) table() table {
	type whole struct {
		Response string            `json:"response"`
		Metadata *sitebot.Metadata `json:"metadata"`
	}
	spoken := []parameter{{"language", "of the page's texts, such as fr"}}
	return table{
		{
			pattern: "POST /api/v1/chat", scope: access.Test, public: true, handle: s.chat,
			summary: "Talk to the chatbot of a site",
			query: []parameter{
				{"start", "1 asks for an event at the beginning"},
				{"answered", "1 asks for one at the end of the answer, before suggestions"},
			},
			body: json.RawMessage(`{"type": "object", "required": ["site_name", "session_id", "input"], "properties": {
				"site_name": {"type": "string"}, "session_id": {"type": "string"}, "input": {"type": "string"},
				"person_id": {"type": "string"}, "language": {"type": "string"},
				"turn_number": {"type": "integer", "minimum": 0}, "reveal": {"type": "object"}}}`),
			ok: either{"text/event-stream", whole{}},
		},
		{
			pattern: "OPTIONS /api/v1/chat", scope: access.Test, public: true, handle: s.preflight,
			summary: "May a page of another site ask?", answers: answers{204: nil},
		},
		{
			pattern: "GET /api/v1/chat/{site_name}/sessions", scope: access.Read, handle: s.sessions,
			summary: "The sessions of a site, those with the newest message first",
			query: []parameter{
				{"q", "text in the messages, in any case"},
				{"since", "a time; of the last message"},
				{"until", "a time"},
				{"outcome", "converted, open, blocked or failed"},
				{"limit", "the most that the page has: 50, at most 1000"},
				{"cursor", "next_cursor of the page before"},
			},
			ok: sitebot.SessionList{},
		},
		{
			pattern: "GET /api/v1/chat/{site_name}/{session_id}", scope: access.Read, handle: s.showSession,
			summary: "A session with its turns, failures, leads and thumbs", ok: sitebot.Session{},
		},
		{
			pattern: "DELETE /api/v1/chat/{site_name}/{session_id}", scope: access.Admin, public: true, handle: s.erase,
			summary: "Erase a session with all that it has left", answers: answers{204: nil},
		},
		{
			pattern: "POST /api/v1/chat/{site_name}/{session_id}/feedback", scope: access.Read, public: true,
			handle: s.feedback, summary: "A thumb for a turn, up or down", body: feedbackBody{},
			answers: answers{204: nil},
		},
		{
			pattern: "GET /api/v1/chat/{site_name}/{session_id}/state", scope: access.Test, handle: s.showState,
			summary: "The state of a session", ok: anyObject,
		},
		{
			pattern: "PATCH /api/v1/chat/{site_name}/{session_id}/state", scope: access.Test, handle: s.injectState,
			summary: "Inject state", query: []parameter{{"replace", "1 replaces the whole state"}}, body: anyObject,
			answers: answers{200: anyObject, 204: nil},
		},
		{
			pattern: "GET /chat/{site_name}", scope: access.Read, public: true, handle: s.page,
			summary: "A page to talk on", query: spoken, ok: "text/html",
		},
		{
			pattern: "GET /chat/{site_name}/config.json", scope: access.Read, public: true, handle: s.config,
			summary: "How the chat of a site looks and what it says", query: spoken, ok: chatConfig{},
		},
		{
			pattern: "GET /chat/{site_name}/theme.css", scope: access.Read, public: true, handle: s.theme,
			summary: "The colours of a site's page", ok: "text/css",
		},
		{
			pattern: "GET /chat/assets/page.css", scope: access.Read, public: true, handle: s.asset,
			summary: "How the page looks", ok: "text/css",
		},
		{
			pattern: "GET /chat/assets/page.js", scope: access.Read, public: true, handle: s.asset,
			summary: "The script of the page", ok: "text/javascript",
		},
		{
			pattern: "GET /chat/assets/page/{file}", scope: access.Read, public: true, handle: s.module,
			summary: "A part of it", ok: "text/javascript",
		},
		{
			pattern: "GET /chat.js", scope: access.Read, public: true, handle: s.widget,
			summary: "The chat as a part of other pages", ok: "text/javascript",
		},
	}
}

const chatPath = "/api/v1/chat"

// Open reports whether visitors may make a request.
func (s *Chats) Open(r *http.Request) bool {
	if !s.Public || !s.serves(r) {
		return false
	}
	asked, ok := s.visited(r)
	return ok && asked.public
}

// visited returns the route of visitors that a request is for.
func (s *Chats) visited(r *http.Request) (asked route, ok bool) {
	handler, _ := s.public.Handler(r)
	asked, ok = handler.(route)
	return asked, ok
}

// serves reports whether a request is for the chats, and tests whether it is for a session.
func (s *Chats) serves(r *http.Request) bool {
	path := r.URL.Path
	return path == chatPath || path == "/chat.js" || strings.HasPrefix(path, "/chat/") || s.tests(r)
}

func (s *Chats) tests(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, chatPath+"/") }

// ServeHTTP answers a request.
func (s *Chats) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, ok := s.visited(r); !ok && s.tests(r) {
		s.testers.ServeHTTP(w, r)
		return
	}
	s.visitors.ServeHTTP(w, r)
}

// With serves the paths of chats and passes all others to next.
func (s *Chats) With(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.serves(r) {
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
