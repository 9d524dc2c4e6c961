package setup

import (
	"context"

	"rehearse/internal/chat"
	"rehearse/internal/llm"
	"rehearse/internal/runner"
)

// tapedTarget is a target whose turns fail when an exchange of theirs could not be recorded, or is not in the recording. Chatbots and flows
// get over model calls that fail: without this, a turn could pass that was never recorded whole.
type tapedTarget struct{ runner.Target }

// taping wraps a target while something is recorded or played.
func (s *shared) taping(t runner.Target, err error) (runner.Target, error) {
	if err != nil || s.tape.off() {
		return t, err
	}
	return tapedTarget{t}, nil
}

// Open opens a session.
func (t tapedTarget) Open(ctx context.Context, o runner.Opening) (runner.Session, error) {
	noting, lacks := llm.NoteLack(ctx)
	session, err := t.Target.Open(noting, o)
	if err != nil {
		return session, err
	}
	if err := lacks(); err != nil {
		_ = session.Close() // the session was never used
		return nil, err
	}
	if h, ok := session.(runner.Historian); ok {
		return tapedHistorian{tapedSession{session}, h}, nil
	}
	return tapedSession{session}, nil
}

type tapedSession struct{ runner.Session }

// Send says the message. After a turn that lacks an exchange, the reply still says what the turn has used.
func (s tapedSession) Send(ctx context.Context, message chat.Content) (chat.Reply, error) {
	noting, lacks := llm.NoteLack(ctx)
	reply, err := s.Session.Send(noting, message)
	if err == nil {
		err = lacks()
	}
	return reply, err
}

// tapedHistorian is the session of a runner.Historian.
type tapedHistorian struct {
	tapedSession
	runner.Historian
}
