package target

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"slices"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/collect"
	"github.com/rehearse-dev/rehearse/internal/base/httpclient"
	"github.com/rehearse-dev/rehearse/internal/base/template"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/base/trace"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/eval/target/answer"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// HTTP is an agent behind HTTP as a target. It is safe for concurrent use: conversations share limits and the knowledge
// that nobody is there.
type HTTP struct {
	config  HTTPConfig
	bounds  Bounds
	client  *http.Client
	breaker *llm.Breaker
	parts   Parts
}

var _ runner.Target = (*HTTP)(nil)

// Open begins a conversation with an id and cookies of its own, and sends what opens it at the agent.
func (h *HTTP) Open(ctx context.Context, o runner.Opening) (runner.Session, error) {
	if o.ConversationID == "" {
		o.ConversationID = rand.Text()
	}
	id, err := h.parts.conversationID(ctx, o.ConversationID)
	if err != nil {
		return nil, err
	}
	o.ConversationID = id
	talk, err := newConversation(o, "http")
	if err != nil {
		return nil, err
	}
	s := &httpSession{HTTP: h, conversation: talk, kind: "http", trace: trace.ID(id), opened: ctx}
	s.client, s.hangUp = httpclient.Apart(h.client)
	s.client = collect.Exchanges(s.client)
	if !h.config.withoutJar {
		jar, err := cookiejar.New(nil)
		if err != nil {
			return nil, err
		}
		s.client = httpclient.WithCookies(s.client, jar)
	}
	if h.config.givenBy() == nil {
		s.values.SessionID = id
	}
	s.values.History = s.history
	if h.config.opening == nil {
		return s, nil
	}
	if err := s.begin(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

type httpSession struct {
	*HTTP
	*conversation
	// client has cookies and connections of its own: some servers keep what belongs to a conversation with its
	// connection. hangUp closes these.
	client *http.Client
	hangUp func()
	// trace is the W3C trace id of the conversation, opened the context that it was opened with.
	trace  string
	opened context.Context
	kind   string
	// sessionID is the id that the agent has given; empty until it does.
	sessionID string
	// calls is how many tool calls an answer may repeat.
	calls  int
	closed bool
}

// begin sends the request that opens the conversation.
func (s *httpSession) begin(ctx context.Context) error {
	o := s.config.opening
	got, _, err := s.exchange(ctx, &o.httpRequest, &s.values)
	if err != nil {
		return err
	}
	if o.session != nil {
		var inBody string
		if o.session.path != nil {
			if inBody, err = o.session.path.In([]byte(got.Body)); err != nil {
				return s.failed(&o.httpRequest, &s.values, fmt.Errorf("no session id: %w", err))
			}
		}
		if err := s.identify(o.session, got, inBody); err != nil {
			return s.failed(&o.httpRequest, &s.values, err)
		}
	}
	if o.text == nil {
		return nil
	}
	greeting, err := o.text.In([]byte(got.Body))
	if err != nil {
		return s.failed(&o.httpRequest, &s.values, fmt.Errorf("no greeting: %w", err))
	}
	s.greet(greeting)
	return nil
}

// greet puts the agent's greeting before everything that was said.
func (s *httpSession) greet(text string) {
	at := slices.IndexFunc(s.earlier, func(m chat.Message) bool { return m.Role != chat.System })
	if at < 0 {
		at = len(s.earlier)
	}
	s.earlier = slices.Insert(slices.Clone(s.earlier), at, chat.NewMessage(chat.Assistant, text))
	s.history = slices.Clip(s.earlier)
	s.values.History = s.history
}

// Send says the message, and sends it again where it cannot have been taken.
func (s *httpSession) Send(ctx context.Context, message chat.Content) (chat.Reply, error) {
	unknown := chat.Reply{Usage: chat.Usage{Unknown: true}, Cost: chat.Cost{Unknown: true}, TraceID: s.trace}
	v := s.ask(message)
	got, took, err := s.exchange(ctx, &s.config.turn, v)
	if err != nil {
		return unknown, err
	}
	found, err := s.read(got)
	if err == nil {
		err = s.storeID(got, found)
	}
	if err != nil {
		unknown.Latency, unknown.Attempts = took.Latency, took.Attempts
		return unknown, s.failed(&s.config.turn, v, err)
	}
	reply := found.Reply
	reply.Latency, reply.FirstText, reply.Attempts = took.Latency, took.FirstText, took.Attempts
	if reply.TraceID == "" {
		reply.TraceID = s.trace
	}
	reply.Cost = s.bounds.cost(reply)
	s.calls = found.Calls
	s.heard(message, reply)
	s.values.History = s.history
	return reply, nil
}

func (s *httpSession) read(got httpAnswer) (answer.Found, error) {
	if got.Streamed {
		return s.config.answer.Found(got.Events, s.calls)
	}
	return s.config.answer.ReadAll([]byte(got.Body), got.Type, s.calls)
}

// storeID takes the agent's id of the conversation from the answer of a turn.
func (s *httpSession) storeID(got httpAnswer, found answer.Found) error {
	by := s.config.session
	if by == nil || s.sessionID != "" && !by.every {
		return nil
	}
	return s.identify(by, got, found.Session)
}

func (s *httpSession) identify(by *agentSession, got httpAnswer, inBody string) error {
	id := inBody
	switch {
	case by.header != "":
		id = got.Header
	case by.cookie != "":
		id = got.Cookie
	}
	if id == "" {
		return fmt.Errorf("no session id %s", by.where())
	}
	s.sessionID, s.values.SessionID = id, id
	return nil
}

// SessionID returns the id by which the agent knows the conversation.
func (s *httpSession) SessionID() string { return s.values.SessionID }

// errNoSession is why a request that names a session in its address is not sent.
var errNoSession = errors.New("it gave no session id")

// closeTime is how long the agent may take to close a conversation. It is a little less than the runner waits.
const closeTime = 5*time.Second - 200*time.Millisecond

// Close sends the request that closes the conversation at the agent. It is sent once, whatever happened, and its
// failure is only a warning.
func (s *httpSession) Close() error {
	defer s.hangUp()
	if s.config.closing == nil || s.closed {
		return nil
	}
	s.closed = true
	ctx, cancel := context.WithTimeout(trace.Carry(context.Background(), s.opened), closeTime)
	defer cancel()
	v := s.values
	v.Silent = true
	err := errNoSession // DELETE /threads/ would be another request than DELETE /threads/ID
	if v.SessionID != "" || !s.config.closing.url.Uses("session_id") {
		err = s.sendOnce(ctx, s.config.closing, &v)
	}
	if err != nil && s.parts.Warn != nil {
		s.parts.Warn(fmt.Sprintf("a conversation with %s could not be closed: %v", text.Address(s.config.URL), err))
	}
	return nil
}

// failed is an error of an answer, which names the address.
func (s *httpSession) failed(r *httpRequest, v *template.Values, err error) error {
	address, _, _ := r.url.Text(v, template.Address)
	return fmt.Errorf("%s: %w", shownAddress(address), err)
}
