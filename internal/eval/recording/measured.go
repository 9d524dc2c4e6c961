package recording

import (
	"cmp"
	"context"
	"time"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// Metrics count the time of turns of targets and of calls of judges.
type Metrics interface {
	Target(provider string, took time.Duration)
	Judge(provider string, took time.Duration)
}

// MeasureTarget wraps a target so that the metrics have the time of each turn, as the record has it.
func MeasureTarget(m Metrics, provider string, t runner.Target) runner.Target {
	if m == nil {
		return t
	}
	return measuredTarget{t, provider, m}
}

// MeasureJudge wraps a judging model so that the metrics have the time of each call.
func MeasureJudge(m Metrics, provider string, model llm.Model) llm.Model {
	if m == nil {
		return model
	}
	return measuredJudge{model, provider, m}
}

type measuredTarget struct {
	runner.Target
	provider string
	metrics  Metrics
}

// Open opens a session.
func (t measuredTarget) Open(ctx context.Context, o runner.Opening) (runner.Session, error) {
	session, err := t.Target.Open(ctx, o)
	if err != nil || session == nil {
		return session, err
	}
	if h, ok := session.(runner.Historian); ok {
		return measuredHistorian{measuredSession{identified{session}, &t}, h}, nil
	}
	return measuredSession{identified{session}, &t}, nil
}

type measuredSession struct {
	identified
	target *measuredTarget
}

// measuredHistorian is the session of a runner.Historian.
type measuredHistorian struct {
	measuredSession
	runner.Historian
}

// Send sends the message.
func (s measuredSession) Send(ctx context.Context, message chat.Content) (chat.Reply, error) {
	began := time.Now()
	reply, err := s.Session.Send(ctx, message)
	s.target.metrics.Target(s.target.provider, cmp.Or(reply.Latency, time.Since(began)))
	return reply, err
}

// measuredJudge is a judging model whose calls the metrics have.
type measuredJudge struct {
	llm.Model
	provider string
	metrics  Metrics
}

// Generate calls the model.
func (m measuredJudge) Generate(ctx context.Context, r llm.Request) (chat.Reply, error) {
	began := time.Now()
	reply, err := m.Model.Generate(ctx, r)
	m.metrics.Judge(m.provider, cmp.Or(reply.Latency, time.Since(began)))
	return reply, err
}
