package recording

import (
	"context"
	"errors"
	"io"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/redact"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// redactingModel is a model whose replies never repeat a secret, even when the model echoes one.
// It wraps the model before anything stores or passes on a reply.
type redactingModel struct {
	llm.Model
	secrets *redact.Redactor
}

// Generate calls the model and replaces secrets in the reply.
func (m *redactingModel) Generate(ctx context.Context, r llm.Request) (chat.Reply, error) {
	return m.redacted(m.Model.Generate(ctx, r))
}

// Stream calls the model. It passes the text to token as it comes, without secrets.
func (m *redactingModel) Stream(ctx context.Context, r llm.Request, token func(string)) (chat.Reply, error) {
	kept := m.secrets.Writer(tokens(token))
	// tokens never fails
	reply, err := llm.Stream(ctx, m.Model, r, func(piece string) { _, _ = io.WriteString(kept, piece) })
	if err == nil {
		err = kept.Flush()
	}
	return m.redacted(reply, err)
}

// tokens passes on what is written to it.
type tokens func(string)

// Write never fails.
func (t tokens) Write(data []byte) (int, error) {
	if len(data) > 0 {
		t(string(data))
	}
	return len(data), nil
}

// redacted returns an answer without secrets.
func (m *redactingModel) redacted(reply chat.Reply, err error) (chat.Reply, error) {
	reply.Text = m.secrets.Text(reply.Text)
	for i := range reply.ToolCalls {
		call := &reply.ToolCalls[i]
		call.Args, call.Result = m.secrets.Bytes(call.Args), m.secrets.Bytes(call.Result)
	}
	if fault, ok := errors.AsType[*llm.Error](err); ok {
		clean := *fault
		clean.Message = m.secrets.Text(clean.Message)
		return reply, &clean
	}
	return reply, err
}

// revealingModel is a recorded model whose replies have the values again that the recording masks, where the
// environment has them: what is graded is what was graded when it was recorded.
type revealingModel struct {
	llm.Model
	secrets *redact.Redactor
}

// Generate plays the reply.
func (m *revealingModel) Generate(ctx context.Context, r llm.Request) (chat.Reply, error) {
	reply, err := m.Model.Generate(ctx, r)
	reply.Text = m.secrets.Reveal(reply.Text)
	for i := range reply.ToolCalls {
		call := &reply.ToolCalls[i]
		call.Args, call.Result = m.secrets.RevealJSON(call.Args), m.secrets.RevealJSON(call.Result)
	}
	return reply, err
}
