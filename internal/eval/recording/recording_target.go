package recording

import (
	"context"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// recordedTarget is a target whose turns fail when an exchange of theirs could not be recorded, or is not in the
// recording. Chatbots and flows get over model calls that fail: without this, a turn could pass that was never recorded
// whole. The time that a turn took is recorded and played as well, or a playback would pass every assertion on latency.
type recordedTarget struct {
	runner.Target
	recording *Recording
}

// Target wraps a target while something is recorded or played.
func (r *Recording) Target(t runner.Target) runner.Target {
	if r.Off() {
		return t
	}
	r.used.Store(true)
	return recordedTarget{t, r}
}

// Open opens a session.
func (t recordedTarget) Open(ctx context.Context, o runner.Opening) (runner.Session, error) {
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
		return recordedHistorian{recordedSession{identified{session}, t.recording}, h}, nil
	}
	return recordedSession{identified{session}, t.recording}, nil
}

type recordedSession struct {
	identified
	recording *Recording
}

// identified is a session that is wrapped, with its ids.
type identified struct{ runner.Session }

// ConversationID implements runner.Identified.
func (s identified) ConversationID() string {
	if known, ok := s.Session.(runner.Identified); ok {
		return known.ConversationID()
	}
	return ""
}

// SessionID returns the agent's id of the conversation; empty where it has given none.
func (s identified) SessionID() string {
	if known, ok := s.Session.(runner.Identified); ok {
		return known.SessionID()
	}
	return ""
}

// Send sends the message. After a turn that lacks an exchange, the reply still has what the turn has used.
func (s recordedSession) Send(ctx context.Context, message chat.Content) (chat.Reply, error) {
	noting, lacks := llm.NoteLack(ctx)
	started := time.Now()
	reply, err := s.Session.Send(noting, message)
	if err == nil {
		err = lacks()
	}
	if err != nil || reply.Latency != 0 || reply.Untimed {
		return reply, err
	}
	if s.recording.player != nil {
		reply.Latency = s.recording.player.Turn(ctx, message.String())
		return reply, nil
	}
	reply.Latency = time.Since(started)
	return reply, s.recording.recorder.RecordTurn(ctx, message.String(), reply.Latency)
}

// recordedHistorian is the session of a runner.Historian.
type recordedHistorian struct {
	recordedSession
	runner.Historian
}
