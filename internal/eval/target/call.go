package target

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptrace"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/text"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/eval/target/answer"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// Exchange is one message to an agent, with the answer as it came.
type Exchange struct {
	// Method, Address and Body are the request. The address has no password and no query. Method and Address are empty
	// for a kind without HTTP.
	Method, Address, Body string
	// Status is that of HTTP; 0 for another kind. Answer is the body, and Header has the answer's headers.
	Status int
	Header http.Header
	Answer []byte
	// Events are the messages of an agent that does not answer by HTTP. More are those that came over a WebSocket after
	// the reply.
	Events, More []string
	// ConversationID is the id of the conversation that the agent was told; empty for a kind without HTTP. SessionID is
	// the agent's.
	ConversationID, SessionID string
	// Reply is what the target finds in the answer; for HTTP, see ReadAsked.
	Reply string
}

// IsHTTP reports whether a target is an agent behind HTTP as data.
func IsHTTP(t config.Target) bool {
	_, ok := t.Options.(HTTPConfig)
	return ok
}

// Call sends one message to a target, in a conversation of its own. An agent behind HTTP is asked once, and its answer
// is not read: any status is an answer. The error of another kind says why there was no reply; what the agent sent is
// returned with it, as far as it came.
func Call(ctx context.Context, t config.Target, p Parts, message string) (Exchange, error) {
	o := runner.Opening{Test: &suite.Test{ID: "init", Conversation: true}, Trial: 1, ConversationID: rand.Text()}
	if c, ok := t.Options.(HTTPConfig); ok {
		return c.ask(ctx, t.Model, p, o, message)
	}
	var asked Exchange
	recorded := p.Recorded
	p.Recorded = func(name string, m llm.Model) llm.Model { return listener{recorded(name, m), &asked} }
	opened, err := Open(t, p)
	if err != nil {
		return asked, err
	}
	session, err := opened.Open(ctx, o)
	if err != nil {
		return asked, err
	}
	reply, err := session.Send(ctx, chat.Content{Text: message})
	if s, ok := session.(runner.Identified); ok {
		asked.SessionID = s.SessionID()
	}
	if s, ok := session.(*spokenSession); ok && (err == nil || len(asked.Events) > 0) {
		asked.More = s.listenOn(ctx)
	}
	asked.Reply = reply.Text
	return asked, errors.Join(err, session.Close())
}

// listener keeps what an agent was asked last, and what it sent.
type listener struct {
	llm.Model
	classifierRequest *Exchange
}

// Generate asks the agent.
func (l listener) Generate(ctx context.Context, r llm.Request) (chat.Reply, error) {
	reply, err := l.Model.Generate(ctx, r)
	if n := len(r.Messages); n > 0 {
		l.classifierRequest.Body = r.Messages[n-1].Content.Text
	}
	var x exchanged
	if err == nil && json.Unmarshal([]byte(reply.Text), &x) == nil {
		l.classifierRequest.Events = nil
		for _, e := range x.Events {
			l.classifierRequest.Events = append(l.classifierRequest.Events, e.Data)
		}
	}
	return reply, err
}

func (c HTTPConfig) ask(ctx context.Context, m config.Model, p Parts, o runner.Opening,
	message string) (asked Exchange, err error) {
	opened, err := c.open(m, p)
	if err != nil {
		return asked, err
	}
	session, err := opened.Open(ctx, o)
	if err != nil {
		return asked, err
	}
	s, ok := session.(*httpSession)
	if !ok {
		return asked, errors.New("an http target opened a conversation of another kind")
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	call, err := s.config.turn.call(s.ask(chat.Content{Text: message}))
	if err != nil {
		return asked, err
	}
	asked = Exchange{
		Method: call.method, Address: text.Address(call.url), Body: call.body, ConversationID: s.values.ConversationID,
		SessionID: s.sessionID,
	}
	limited, cancel := context.WithTimeout(ctx, s.bounds.Timeout)
	defer cancel()
	a := httpAttempt{s, call, true}
	if err := a.whole(limited, &asked); err != nil {
		if ctx.Err() != nil {
			return asked, ctx.Err()
		}
		return asked, errors.New(asked.Address + a.faultOf(limited, err).message)
	}
	return asked, nil
}

// whole sends the request and keeps the answer.
func (a httpAttempt) whole(ctx context.Context, asked *Exchange) error {
	connected := false
	request, err := a.request(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { connected = true },
	}))
	if err != nil {
		return &httpFault{fault: llm.Refused, message: " is no address that can be asked"}
	}
	response, err := a.client.Do(request)
	if err != nil {
		return a.unanswered(err, connected)
	}
	defer response.Body.Close() //nolint:errcheck // the body was read to its end or is abandoned
	asked.Status, asked.Header = response.StatusCode, response.Header
	asked.Answer, err = answer.ReadAll(response.Body, a.bounds.MaxBytes)
	return err
}

// ReadExchange reads an answer of HTTP as a target does, and returns its reply and the session's id in its body.
func ReadExchange(t config.Target, asked Exchange) (reply, session string, err error) {
	c, ok := t.Options.(HTTPConfig)
	if !ok {
		return "", "", errors.New("only answers of HTTP are read")
	}
	media := asked.Header.Get("Content-Type")
	var found answer.Found
	if format := c.formatOf(media); format != "" {
		events, err := c.answer.Events(bytes.NewReader(asked.Answer), format, len(asked.Answer), nil)
		if err != nil {
			return "", "", err
		}
		found, err = c.answer.Found(events, 0)
		return found.Reply.Text, found.Session, err
	}
	found, err = c.answer.ReadAll(asked.Answer, media, 0)
	return found.Reply.Text, found.Session, err
}
