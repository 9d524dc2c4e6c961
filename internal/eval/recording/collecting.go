package recording

import (
	"context"
	"encoding/json"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/collect"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// collectingModel is a model whose requests are gathered with the conversation that they belong to, and a judge's
// replies with them.
type collectingModel struct{ llm.Model }

// Collecting returns a model whose requests and replies are collected (collect.Request).
func Collecting(m llm.Model) llm.Model { return collectingModel{m} }

// Generate calls the model.
func (m collectingModel) Generate(ctx context.Context, r llm.Request) (chat.Reply, error) {
	collect.Request(ctx, func() []byte { return written(r) })
	reply, err := m.Model.Generate(ctx, r)
	if err == nil {
		collect.Answered(ctx, reply.Text)
	}
	return reply, err
}

// Stream calls the model for a reply in pieces.
func (m collectingModel) Stream(ctx context.Context, r llm.Request, token func(string)) (chat.Reply, error) {
	collect.Request(ctx, func() []byte { return written(r) })
	reply, err := llm.Stream(ctx, m.Model, r, token)
	if err == nil {
		collect.Answered(ctx, reply.Text)
	}
	return reply, err
}

// written returns a request as JSON. Arguments of calls that are no JSON, which a model may have written, are left out
// with all but the texts.
func written(r llm.Request) []byte {
	data, err := json.Marshal(r)
	if err == nil {
		return data
	}
	type said struct {
		Role    chat.Role `json:"role"`
		Content string    `json:"content"`
	}
	var messages []said
	for _, m := range r.Messages {
		messages = append(messages, said{m.Role, m.Content.String()})
	}
	data, _ = json.Marshal(map[string]any{"messages": messages}) // texts can always be written
	return data
}
