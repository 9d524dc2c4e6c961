package target

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"strconv"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/collect"
	"github.com/rehearse-dev/rehearse/internal/base/httpclient"
	"github.com/rehearse-dev/rehearse/internal/base/template"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/base/trace"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/eval/target/answer"
	"github.com/rehearse-dev/rehearse/internal/model/a2a"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// A2A is an agent of the A2A protocol as a target. It is safe for concurrent use.
type A2A struct {
	*HTTP
	request *httpRequest
	stream  bool
}

var _ runner.Target = (*A2A)(nil)

// Open reads the agent's card.
func (t *A2A) Open(ctx context.Context, o runner.Opening) (runner.Session, error) {
	id, err := t.parts.conversationID(ctx, o.ConversationID)
	if err != nil {
		return nil, err
	}
	o.ConversationID = id
	talk, err := newConversation(o, "a2a")
	if err != nil {
		return nil, err
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	client, hangUp := httpclient.Apart(t.client)
	s := &a2aSession{agent: t, httpSession: &httpSession{
		HTTP: t.HTTP, conversation: talk, client: httpclient.WithCookies(collect.Exchanges(client), jar),
		hangUp: hangUp, kind: "a2a", trace: trace.ID(id), opened: ctx,
	}}
	s.values.SessionID = id
	if s.with, err = s.discover(ctx); err != nil {
		hangUp()
		return nil, err
	}
	return s, nil
}

type a2aSession struct {
	*httpSession
	agent *A2A
	// with is how the agent is spoken to.
	with a2a.Interface
	// contextID is the agent's id of the conversation, taskID that of the task that waits for the user's next message.
	contextID, taskID string
}

// discover reads the agent's card. An address that has none is an endpoint.
func (s *a2aSession) discover(ctx context.Context) (a2a.Interface, error) {
	c, err := s.agent.request.call(&s.values)
	if err != nil {
		return a2a.Interface{}, err
	}
	endpoint := c.url
	c.url = cardOf(endpoint)
	got, _, err := s.classifierRequest(ctx, c, false)
	if failed, ok := errors.AsType[*llm.Error](err); ok && c.url != endpoint && withoutCard(failed.Status) {
		return a2a.Direct(endpoint), nil
	}
	if err == nil {
		err = unreadable(got)
	}
	if err != nil {
		return a2a.Interface{}, s.at(c.url, err)
	}
	var rpc struct {
		Version string `json:"jsonrpc"`
	}
	if json.Unmarshal([]byte(got.Body), &rpc) == nil && rpc.Version != "" && c.url != endpoint {
		return a2a.Direct(endpoint), nil // it takes whatever comes for a call
	}
	with, err := a2a.ReadCard([]byte(got.Body), c.url)
	if err != nil {
		return with, s.at(c.url, err)
	}
	return with, nil
}

// withoutCard reports whether a status says that there is no card, and not that it cannot be had now.
func withoutCard(status int) bool {
	switch status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotAcceptable,
		http.StatusGone, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity, http.StatusUpgradeRequired,
		http.StatusNotImplemented:
		return true
	}
	return false
}

// at names the address of an error that does not name it itself.
func (s *a2aSession) at(address string, err error) error {
	if _, named := errors.AsType[*llm.Error](err); named {
		return err
	}
	return fmt.Errorf("%s: %w", text.Address(address), err)
}

// unreadable returns the error of an answer that is no JSON.
func unreadable(got httpAnswer) error {
	if err := answer.Page([]byte(got.Body), got.Type); err != nil {
		return err
	}
	_, err := new(answer.Spec).ReadAll([]byte(got.Body), "application/json", 0)
	for _, fault := range []error{answer.ErrEmpty, answer.ErrUTF8, answer.ErrNotJSON, answer.ErrBrokeOff} {
		if errors.Is(err, fault) {
			return err
		}
	}
	if !json.Valid([]byte(got.Body)) {
		return fmt.Errorf("%w: %s", answer.ErrNotJSON, text.OneLine(got.Body, 200))
	}
	return nil
}

// pollEvery is how often a task is asked for that is not at rest.
const pollEvery = 500 * time.Millisecond

// Send says the message, and asks for the task that it begins until that is at rest.
func (s *a2aSession) Send(ctx context.Context, message chat.Content) (chat.Reply, error) {
	unknown := chat.Reply{Usage: chat.Usage{Unknown: true}, Cost: chat.Cost{Unknown: true}, TraceID: s.trace}
	limited, cancel := context.WithTimeout(ctx, s.bounds.Timeout)
	defer cancel()
	v := s.ask(message)
	var turn a2a.Turn
	took, err := s.answered(limited, v, &turn)
	if err != nil {
		if limited.Err() != nil && ctx.Err() == nil {
			err = &timeoutError{fmt.Sprintf("no answer within %s%s (raise timeout if it needs longer)",
				s.bounds.Timeout, stateOf(&turn))}
		}
		if failed, ok := errors.AsType[*a2a.AgentError](err); ok {
			err = fmt.Errorf("%w: %s", answer.ErrAgent, text.OneLine(failed.Message, 500))
		}
		unknown.Latency, unknown.Attempts = took.Latency, took.Attempts
		return unknown, s.at(s.with.URL, err)
	}
	said, ok := turn.Reply()
	if !ok {
		return unknown, s.at(s.with.URL, fmt.Errorf(
			"%w message, artifacts or status.message%s: none of them has a text", answer.ErrNoReply, stateOf(&turn)))
	}
	reply := chat.Reply{Text: said, Node: turn.State(), Usage: unknown.Usage, Cost: unknown.Cost, TraceID: s.trace}
	if reply.State, err = turn.Task(); err != nil {
		return unknown, s.at(s.with.URL, err)
	}
	reply.Latency, reply.FirstText, reply.Attempts = took.Latency, took.FirstText, took.Attempts
	s.taskID = ""
	if turn.NeedsInput() {
		s.taskID = turn.TaskID()
	}
	if id := turn.ContextID(); id != "" {
		s.contextID, s.values.SessionID = id, id
	}
	s.heard(message, reply)
	return reply, nil
}

func stateOf(turn *a2a.Turn) string {
	if state := turn.State(); state != "" {
		return ": the task is " + state
	}
	return ""
}

// answered sends a message and takes what answers it. Took has the time and the attempts.
func (s *a2aSession) answered(ctx context.Context, v *template.Values, turn *a2a.Turn) (took chat.Reply, err error) {
	id := s.values.ConversationID + "-" + strconv.Itoa(v.Turn)
	stream := s.agent.stream && s.with.Streaming
	r, err := s.with.Send(a2a.Message{ID: id, Text: v.Message, ContextID: s.contextID, TaskID: s.taskID}, stream)
	if err != nil {
		return took, err
	}
	if took, err = s.take(ctx, r, v, stream, turn); err != nil {
		return took, err
	}
	ctx = withoutAttempts(ctx)
	for polled := 1; ; polled++ {
		rest, err := turn.AtRest()
		if rest || err != nil {
			return took, err
		}
		if turn.TaskID() == "" {
			return took, fmt.Errorf("%w a task without an id%s", answer.ErrNoReply, stateOf(turn))
		}
		if err := s.pause(ctx); err != nil {
			return took, err
		}
		if r, err = s.with.Get(id+"-"+strconv.Itoa(polled), turn.TaskID()); err != nil {
			return took, err
		}
		more, err := s.take(ctx, r, v, false, turn)
		took.Latency += pollEvery + more.Latency
		if err != nil {
			return took, err
		}
	}
}

// pause waits before the task is asked for again. Nothing is waited for in a playback.
func (s *a2aSession) pause(ctx context.Context) error {
	if s.parts.Playing {
		return ctx.Err()
	}
	return llm.Sleep(ctx, pollEvery)
}

// take sends a request and takes its answer.
func (s *a2aSession) take(ctx context.Context, r a2a.Request, v *template.Values, stream bool,
	turn *a2a.Turn) (chat.Reply, error) {
	c, err := s.agent.request.call(v)
	if err != nil {
		return chat.Reply{}, err
	}
	for name, values := range r.Header {
		if c.header.Get(name) == "" && !c.away[name] {
			c.header[name] = values
		}
	}
	c.method, c.url, c.body = r.Method, r.URL, string(r.Body)
	got, took, err := s.classifierRequest(ctx, c, stream)
	if err != nil {
		return took, err
	}
	if !got.Streamed {
		if err := unreadable(got); err != nil {
			return took, err
		}
		return took, turn.Accept([]byte(got.Body))
	}
	for _, e := range got.Events {
		if e.Data == "" {
			continue
		}
		if err := turn.Accept([]byte(e.Data)); err != nil {
			return took, err
		}
	}
	return took, nil
}

// SessionID returns the agent's id of the conversation.
func (s *a2aSession) SessionID() string { return s.contextID }

// Close closes the connections. The protocol has no end of a conversation.
func (s *a2aSession) Close() error {
	s.hangUp()
	return nil
}
