package wire

import (
	"context"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// tapedTarget is a target whose turns fail when an exchange of theirs could not be recorded, or is not in the
// recording. Chatbots and flows get over model calls that fail: without this, a turn could pass that was never recorded
// whole. The time that a turn took is recorded and played as well, or a playback would pass every assertion on latency.
type tapedTarget struct {
	runner.Target
	tape *tape
}

// taping wraps a target while something is recorded or played.
func (s *shared) taping(t runner.Target, err error) (runner.Target, error) {
	if err != nil || s.tape.off() {
		return t, err
	}
	s.tape.used.Store(true)
	return tapedTarget{t, s.tape}, nil
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
		return tapedHistorian{tapedSession{session, t.tape}, h}, nil
	}
	return tapedSession{session, t.tape}, nil
}

type tapedSession struct {
	runner.Session
	tape *tape
}

// ConversationID implements runner.Identified.
func (s tapedSession) ConversationID() string {
	if known, ok := s.Session.(runner.Identified); ok {
		return known.ConversationID()
	}
	return ""
}

// SessionID returns the agent's id of the conversation; empty where it has given none.
func (s tapedSession) SessionID() string {
	if known, ok := s.Session.(runner.Identified); ok {
		return known.SessionID()
	}
	return ""
}

// Send says the message. After a turn that lacks an exchange, the reply still says what the turn has used.
func (s tapedSession) Send(ctx context.Context, message chat.Content) (chat.Reply, error) {
	noting, lacks := llm.NoteLack(ctx)
	started := time.Now()
	reply, err := s.Session.Send(noting, message)
	if err == nil {
		err = lacks()
	}
	if err != nil || reply.Latency != 0 {
		return reply, err
	}
	if s.tape.playing != nil {
		reply.Latency = s.tape.playing.Turn(ctx, message.String())
		return reply, nil
	}
	reply.Latency = time.Since(started)
	return reply, s.tape.recorder.RecordTurn(ctx, message.String(), reply.Latency)
}

// tapedHistorian is the session of a runner.Historian.
type tapedHistorian struct {
	tapedSession
	runner.Historian
}
