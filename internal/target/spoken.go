package target

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"rehearse/internal/answer"
	"rehearse/internal/chat"
	"rehearse/internal/inbox"
	"rehearse/internal/llm"
	"rehearse/internal/runner"
	"rehearse/internal/template"
	"rehearse/internal/text"
	"rehearse/internal/trace"
)

// spoken is an agent that is spoken with over a wire: what a command and a WebSocket have in common.
type spoken struct {
	// kind is what recordings call it, at what errors call this agent.
	kind, at string
	// begin opens the wire of a conversation; now returns the values of the turn under way. A conversation that is played from a recording has none.
	begin func(ctx context.Context, now func() *template.Values) (wire, error)
	// message returns what is sent for a turn.
	message func(v *template.Values) ([]byte, error)
	answer  answered
	// greeting comes before the first turn, closing is sent after the last one; nil for none.
	greeting *greeting
	closing  *template.Template
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
	talk, err := newTalk(o, t.kind)
	if err != nil {
		return nil, err
	}
	if t.answer.Session == nil {
		talk.values.SessionID = id
	}
	s := &spokenSession{spoken: t, talk: talk, now: &talk.values}
	events, _, err := s.agent(s.open).exchange(ctx, "open")
	if err == nil {
		s.opened(events)
		return s, nil
	}
	if s.wire != nil {
		s.wire.close()
	}
	return nil, err
}

// opened takes the session's id from what came before the first turn.
func (s *spokenSession) opened(events []event) {
	r := s.answer.Read(0)
	for _, e := range events {
		if _, err := r.Add("", []byte(e.Data)); err != nil {
			return // what is no answer has no id
		}
	}
	if id := r.Session(); id != "" {
		s.values.SessionID = id
	}
}

type spokenSession struct {
	*spoken
	*talk
	// now are the values of the turn under way.
	now  *template.Values
	wire wire
	// calls is the number of tool calls that the next answer may repeat.
	calls int
}

// agent returns the agent as one that is asked in its time.
func (s *spokenSession) agent(ask func(ctx context.Context, request string) ([]event, error)) agent {
	return agent{name: s.kind, at: s.at, wrap: s.wrap, ask: func(ctx context.Context, request string) ([]event, error) {
		limited, cancel := context.WithTimeout(ctx, s.Timeout)
		defer cancel()
		events, err := ask(limited, request)
		if err != nil && ctx.Err() == nil && limited.Err() != nil {
			err = &noAnswer{s.Timeout, err}
		}
		return events, err
	}}
}

func (s *spokenSession) open(ctx context.Context, _ string) (events []event, err error) {
	s.wire, err = s.begin(ctx, func() *template.Values { return s.now })
	if err != nil || s.greeting == nil {
		return nil, err
	}
	return s.greet(ctx, s.greeting)
}

// Send says the message and reads the answer to its end.
func (s *spokenSession) Send(ctx context.Context, message chat.Content) (chat.Reply, error) {
	unknown := chat.Reply{Usage: chat.Usage{Unknown: true}, Cost: chat.Cost{Unknown: true}, Attempts: 1}
	s.now = s.ask(message)
	request, err := s.message(s.now)
	if err != nil {
		return unknown, err
	}
	events, took, err := s.agent(s.talkOver).exchange(ctx, string(request))
	if err != nil {
		return unknown, err
	}
	found, spokeAfter, err := s.answer.read(events, s.calls)
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
	switch {
	case s.answer.Session == nil:
	case id != "" && (s.values.SessionID == "" || s.answer.everySession):
		s.values.SessionID = id
	case s.values.SessionID == "":
		return fmt.Errorf("no session id at %s", s.answer.Session.Path)
	}
	return nil
}

// talkOver sends a message over the wire and returns the events that answer it.
func (s *spokenSession) talkOver(ctx context.Context, request string) ([]event, error) {
	if err := s.unasked(); err != nil {
		return nil, err
	}
	started := time.Now()
	if err := s.wire.send(ctx, []byte(request)); err != nil {
		return nil, s.bounded(err)
	}
	return s.listen(ctx, started, s.answer.begin(s.calls))
}

// unasked returns an error if the agent has spoken since its last answer: it would be taken for the answer to the message that is sent next.
func (s *spokenSession) unasked() error {
	said := s.more()
	switch {
	case said == "":
		return nil
	case s.values.Turn == 0:
		return fmt.Errorf("it spoke before the first message: %s: wait for that with `open: {wait: …}` or `prompt:`", said)
	}
	return fmt.Errorf("it spoke on after its answer: %s: say where an answer ends, with `stream: {end: …}` or `until:`", said)
}

// more returns the first reply that nobody has asked for; empty when there is none. Messages in which nothing is found are passed over.
func (s *spokenSession) more() string {
	for _, data := range s.wire.unread() {
		r := s.answer.begin(s.calls)
		_, _ = r.take(event{Data: string(data)}) // what cannot be read is no reply
		if r.first != nil || r.Replied() || r.Spoken() {
			return text.OneLine(string(bytes.ToValidUTF8(data, []byte("\ufffd"))), 200)
		}
	}
	return ""
}

// listen returns the events up to the one with which a reading is done.
func (s *spokenSession) listen(ctx context.Context, started time.Time, r reading) ([]event, error) {
	var events []event
	for size := 0; ; {
		e, err := s.hear(ctx, started, &size)
		if err != nil {
			return nil, err
		}
		events = append(events, e)
		done, err := r.take(events[len(events)-1])
		if done || err != nil {
			return events, nil // whoever reads them finds the same error
		}
	}
}

// hear returns the next event. Size is that of the answer so far.
func (s *spokenSession) hear(ctx context.Context, started time.Time, size *int) (event, error) {
	data, err := s.wire.next(ctx)
	*size += len(data)
	switch {
	case err != nil:
		return event{}, s.bounded(err)
	case *size > s.MaxBytes:
		return event{}, answer.Large(s.MaxBytes)
	case !utf8.Valid(data):
		return event{}, answer.ErrUTF8
	}
	return event{string(data), time.Since(started)}, nil
}

// bounded names the bound of an answer that is too long.
func (s *spokenSession) bounded(err error) error {
	if errors.Is(err, inbox.ErrTooLong) {
		return answer.Large(s.MaxBytes)
	}
	return err
}

// SessionID returns the agent's id of the conversation.
func (s *spokenSession) SessionID() string { return s.values.SessionID }

// closingTime bounds the message after the last turn.
const closingTime = 5 * time.Second

// Close ends the conversation and waits until nothing of it is left.
func (s *spokenSession) Close() error {
	if s.wire == nil {
		return nil
	}
	if s.closing != nil {
		ctx, cancel := context.WithTimeout(context.Background(), closingTime)
		defer cancel()
		message, err := rendered(s.closing, s.now)
		if w, ok := s.wire.(*socket); ok && err == nil {
			err = w.write(ctx, message)
		}
		if err != nil {
			s.tell(fmt.Sprintf("could not be closed: %v", err))
		}
	}
	said := s.more()
	s.wire.close()
	if _, ok := s.wire.(*socket); ok && said == "" && s.closing == nil {
		said = s.more() // what came before the other side's goodbye
	}
	if said != "" && s.values.Turn > 0 {
		s.tell("has a message after its last answer, so that answers may belong to other messages: " + said)
	}
	return nil
}

// tell warns of something about the conversation.
func (s *spokenSession) tell(what string) {
	if s.warn != nil {
		s.warn(fmt.Sprintf("%s: the conversation %s %s", s.at, s.values.ConversationID, what))
	}
}
