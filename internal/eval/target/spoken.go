package target

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/collect"
	"github.com/rehearse-dev/rehearse/internal/base/mailbox"
	"github.com/rehearse-dev/rehearse/internal/base/template"
	"github.com/rehearse-dev/rehearse/internal/base/trace"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/eval/target/answer"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// spoken is an agent that is spoken with over a wire: what a command and a WebSocket have in common.
type spoken struct {
	// kind is what recordings call it, at what errors call this agent.
	kind, at string
	// address is where the agent is; empty for a program.
	address string
	// begin opens the wire of a conversation; now returns the values of the turn under way. A conversation that is
	// played from a recording has none.
	begin func(ctx context.Context, now func() *template.Values) (wire, error)
	// message returns what is sent for a turn.
	message func(v *template.Values) ([]byte, error)
	answer  answered
	// greeting comes before the first turn, closing is sent after the last one; nil for none.
	greeting *greeting
	closing  *template.Template
	// apart is true where each turn has a wire of its own, so that a late answer cannot be taken for another turn's.
	apart bool
	// trace is true of an agent that is told the conversation's trace.
	trace bool
	warn  func(text string)
	Bounds
	wrap func(name string, m llm.Model) llm.Model
	// conversation returns the id of a conversation, the recorded one where a recording is played.
	conversation func(ctx context.Context, id string) (string, error)
}

var _ runner.Target = (*spoken)(nil)

// Open opens the wire of a conversation. Nothing is opened for a playback.
func (t *spoken) Open(ctx context.Context, o runner.Opening) (runner.Session, error) {
	id, err := t.conversation(ctx, o.ConversationID)
	if err != nil {
		return nil, err
	}
	o.ConversationID = id
	talk, err := newConversation(o, t.kind)
	if err != nil {
		return nil, err
	}
	if t.answer.session == nil {
		talk.values.SessionID = id
	}
	s := &spokenSession{spoken: t, conversation: talk, now: &talk.values}
	x, _, err := s.agent(s.open).exchange(ctx, "open")
	if err == nil {
		err = s.opened(x)
	}
	if err == nil {
		return s, nil
	}
	if s.wire != nil {
		s.wire.close()
	}
	return nil, err
}

// opened takes the session's id from what came before the first turn.
func (s *spokenSession) opened(x exchanged) error {
	by := s.answer.session
	if by == nil {
		return nil
	}
	if by.path == nil {
		if x.Session == "" {
			return fmt.Errorf("%s: no session id %s", s.at, by.where())
		}
		s.values.SessionID = x.Session
		return nil
	}
	r := s.answer.Read(0)
	for _, e := range x.Events {
		if _, err := r.Add("", []byte(e.Data)); err != nil {
			return fmt.Errorf("%s: %w", s.at, err)
		}
	}
	s.values.SessionID = r.Session()
	return nil
}

type spokenSession struct {
	*spoken
	*conversation
	// now are the values of the turn under way.
	now  *template.Values
	wire wire
	// calls is the number of tool calls that the next answer may repeat.
	calls int
	// late is true once the rest of an answer may still come, so that nobody can say what the next message answers.
	late bool
}

// agent returns the agent as one that is asked in its time.
func (s *spokenSession) agent(ask func(ctx context.Context, request string) (exchanged, error)) agent {
	return agent{name: s.kind, at: s.at, wrap: s.wrap, ask: func(ctx context.Context,
		request string) (exchanged, error) {
		limited, cancel := context.WithTimeout(ctx, s.Timeout)
		defer cancel()
		x, err := ask(limited, request)
		if err != nil && ctx.Err() == nil && limited.Err() != nil {
			err = &noAnswer{s.Timeout, err}
		}
		return x, err
	}}
}

func (s *spokenSession) open(ctx context.Context, _ string) (x exchanged, err error) {
	s.wire, err = s.begin(ctx, func() *template.Values { return s.now })
	if err != nil {
		return x, err
	}
	if opened, ok := s.wire.(*socket); ok {
		x.Session = opened.session
		if x.Session != "" {
			s.values.SessionID = x.Session // the greeting may hold it
		}
	}
	if s.greeting != nil {
		x.Events, err = s.greet(ctx, s.greeting)
	}
	return x, err
}

// Send says the message and reads the answer to its end.
func (s *spokenSession) Send(ctx context.Context, message chat.Content) (chat.Reply, error) {
	unknown := chat.Reply{Usage: chat.Usage{Unknown: true}, Cost: chat.Cost{Unknown: true}, Attempts: 1}
	if s.late {
		return unknown, fmt.Errorf("%s: an earlier message was not answered to its end, "+
			"and what comes now may belong to it: begin a new conversation", s.at)
	}
	s.now = s.ask(message)
	request, err := s.message(s.now)
	if err != nil {
		return unknown, err
	}
	s.settle(ctx)
	collect.Put(ctx, collect.Prompt, func() []byte { return request })
	x, took, err := s.agent(s.endConversation).exchange(ctx, string(request))
	if err != nil {
		s.late = !s.apart
		return unknown, err
	}
	found, spokeAfter, err := s.answer.read(x.Events, s.calls)
	s.late = err != nil && s.answer.ends() && !errors.Is(err, answer.ErrNoReply)
	if err == nil {
		err = s.known(found.Session)
	}
	if err != nil {
		return unknown, fmt.Errorf("%s: %w", s.at, err)
	}
	reply := found.Reply
	reply.Latency, reply.FirstText, reply.Attempts = took, spokeAfter, 1
	reply.Cost = s.cost(reply)
	if s.trace && reply.TraceID == "" {
		reply.TraceID = trace.ID(s.values.ConversationID)
	}
	s.calls = found.Calls
	s.heard(message, reply)
	return reply, nil
}

// known keeps the agent's id of the conversation.
func (s *spokenSession) known(id string) error {
	by := s.answer.session
	if by == nil || by.path == nil || s.values.SessionID != "" && !by.every {
		return nil
	}
	if id == "" {
		return fmt.Errorf("no session id %s", by.where())
	}
	s.values.SessionID = id
	return nil
}

// endConversation sends a message over the wire and returns the events that answer it.
func (s *spokenSession) endConversation(ctx context.Context, request string) (x exchanged, err error) {
	if err := s.unasked(); err != nil {
		return x, err
	}
	ctx, span := sending(ctx, s.kind, s.address)
	defer func() { sent(span, err) }()
	started := time.Now()
	if err := s.wire.send(ctx, []byte(request)); err != nil {
		return x, s.bounded(err)
	}
	x.Events, err = s.listen(ctx, started, s.answer.begin(s.calls))
	return x, err
}

// listen returns the events up to the one with which a reading is done.
func (s *spokenSession) listen(ctx context.Context, started time.Time, r reading) ([]event, error) {
	var events []event
	for size := 0; ; {
		e, err := s.hear(ctx, started, &size, len(events))
		if err != nil {
			return nil, err
		}
		events = append(events, e)
		done, err := r.take(events[len(events)-1])
		if done || err != nil {
			return events, nil //nolint:nilerr // whoever reads them finds the same error
		}
	}
}

// hear returns the next event. Size is that of the answer so far, and before is the number of its events.
func (s *spokenSession) hear(ctx context.Context, started time.Time, size *int, before int) (event, error) {
	data, err := s.wire.next(ctx)
	*size += len(data)
	switch {
	case err != nil:
		return event{}, s.bounded(err)
	case *size > s.MaxBytes:
		return event{}, answer.Large(s.MaxBytes)
	case before == mailbox.Most:
		return event{}, s.bounded(mailbox.ErrTooMany)
	case !utf8.Valid(data):
		return event{}, answer.ErrUTF8
	}
	return event{string(data), time.Since(started)}, nil
}

// bounded names the bound of an answer that is too long.
func (s *spokenSession) bounded(err error) error {
	switch {
	case errors.Is(err, mailbox.ErrTooLong):
		return answer.Large(s.MaxBytes)
	case errors.Is(err, mailbox.ErrTooMany):
		return fmt.Errorf("the answer is %w", err)
	}
	return err
}

// SessionID returns the agent's id of the conversation.
func (s *spokenSession) SessionID() string { return s.values.SessionID }
