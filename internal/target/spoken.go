package target

import (
	"context"
	"errors"
	"fmt"
	"time"

	"rehearse/internal/chat"
	"rehearse/internal/llm"
	"rehearse/internal/runner"
	"rehearse/internal/template"
)

// spoken is an agent that is spoken with over a wire: what a command and a WebSocket have in common.
type spoken struct {
	// kind is what recordings call it, at what errors call this agent.
	kind, at string
	// begin opens the wire of a conversation; now returns the values of the turn under way. A conversation that is played from a recording has none.
	begin func(ctx context.Context, now func() *template.Values) (wire, error)
	// message returns what is sent for a turn.
	message func(v *template.Values) ([]byte, error)
	// reading returns what reads the answer to one message.
	reading func() reading
	timeout time.Duration
	wrap    func(name string, m llm.Model) llm.Model
}

// reading reads the events of one answer.
type reading interface {
	// take takes the next event. It returns true when nothing more is to come.
	take(e event) (bool, error)
	// reply returns the whole reply, and the agent's id of the conversation where it has given one.
	reply() (chat.Reply, string, error)
}

var _ runner.Target = (*spoken)(nil)

// Open opens the wire of a conversation. Nothing is opened for a playback.
func (t *spoken) Open(ctx context.Context, o runner.Opening) (runner.Session, error) {
	talk, err := newTalk(o, t.kind)
	if err != nil {
		return nil, err
	}
	s := &spokenSession{spoken: t, talk: talk, now: &talk.values}
	_, _, err = s.agent(s.open).exchange(ctx, "open")
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

type spokenSession struct {
	*spoken
	*talk
	// now are the values of the turn under way.
	now  *template.Values
	wire wire
}

// agent returns the agent as one that is asked in its time.
func (s *spokenSession) agent(ask func(ctx context.Context, request string) ([]event, error)) agent {
	return agent{name: s.kind, at: s.at, wrap: s.wrap, ask: func(ctx context.Context, request string) ([]event, error) {
		limited, cancel := context.WithTimeout(ctx, s.timeout)
		defer cancel()
		events, err := ask(limited, request)
		if err != nil && errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			err = noAnswer{s.timeout}
		}
		return events, err
	}}
}

func (s *spokenSession) open(ctx context.Context, _ string) (events []event, err error) {
	s.wire, err = s.begin(ctx, func() *template.Values { return s.now })
	return nil, err
}

// Send says the message and reads the answer to its end.
func (s *spokenSession) Send(ctx context.Context, message chat.Content) (chat.Reply, error) {
	unknown := chat.Reply{Usage: chat.Usage{Unknown: true}, Cost: chat.Cost{Unknown: true}}
	s.now = s.ask(message)
	request, err := s.message(s.now)
	if err != nil {
		return unknown, err
	}
	events, took, err := s.agent(s.talkOver).exchange(ctx, string(request))
	if err != nil {
		return unknown, err
	}
	reply, sessionID, err := s.read(events)
	if err != nil {
		return unknown, fmt.Errorf("%s: %w", s.at, err)
	}
	if sessionID != "" {
		s.values.SessionID = sessionID
	}
	reply.Latency, reply.Attempts = took, 1
	s.heard(message, reply)
	return reply, nil
}

// talkOver sends a message over the wire and returns the events that answer it.
func (s *spokenSession) talkOver(ctx context.Context, request string) ([]event, error) {
	started := time.Now()
	if err := s.wire.send(ctx, []byte(request)); err != nil {
		return nil, err
	}
	answer := s.reading()
	var events []event
	for {
		data, err := s.wire.next(ctx)
		if err != nil {
			return nil, err
		}
		events = append(events, event{string(data), time.Since(started)})
		done, err := answer.take(events[len(events)-1])
		if done || err != nil {
			return events, nil // whoever reads them finds the same
		}
	}
}

// read makes the reply of the events.
func (s *spokenSession) read(events []event) (chat.Reply, string, error) {
	answer := s.reading()
	for _, e := range events {
		done, err := answer.take(e)
		if err != nil {
			return chat.Reply{}, "", err
		}
		if done {
			break
		}
	}
	return answer.reply()
}

// SessionID returns the agent's id of the conversation.
func (s *spokenSession) SessionID() string { return s.values.SessionID }

// Close ends the conversation and waits until nothing of it is left.
func (s *spokenSession) Close() error {
	if s.wire != nil {
		s.wire.close()
	}
	return nil
}

// plainReading takes the first event for the reply.
type plainReading struct{ said *event }

func (r *plainReading) take(e event) (bool, error) {
	r.said = &e
	return true, nil
}

// errEmpty is an answer that has nothing in it.
var errEmpty = errors.New("empty answer")

func (r *plainReading) reply() (chat.Reply, string, error) {
	if r.said == nil || r.said.Data == "" {
		return chat.Reply{}, "", errEmpty
	}
	return chat.Reply{Text: r.said.Data, Usage: chat.Usage{Unknown: true}, Cost: chat.Cost{Unknown: true}}, "", nil
}
