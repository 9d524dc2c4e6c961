package llm

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/trace"
)

// Traced returns model with a span for each call. A Client has its own, one for each request.
func Traced(model Model, m config.Model) Model { return &traced{model, m} }

type traced struct {
	model Model
	of    config.Model
}

func (t *traced) Generate(ctx context.Context, r Request) (chat.Reply, error) {
	return t.Stream(ctx, r, nil)
}

func (t *traced) Stream(ctx context.Context, r Request, token func(string)) (chat.Reply, error) {
	ctx, span := beginCall(ctx, t.of, r)
	reply, err := ask(ctx, t.model, r, token)
	endCall(span, reply, err)
	return reply, err
}

// beginCall begins the span of a call (https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/#inference).
func beginCall(ctx context.Context, m config.Model, r Request) (context.Context, *trace.Span) {
	name := cmp.Or(m.Name, m.Provider)
	ctx, span := trace.StartKind(ctx, trace.Client, trace.Chat+" "+name)
	if span == nil {
		return ctx, nil
	}
	span.Set(
		trace.A(trace.Operation, trace.Chat), trace.A(trace.Provider, trace.ProviderName(m.Provider)),
		trace.A(trace.RequestModel, name), trace.A(trace.Role, trace.RoleOf(ctx)),
	)
	if span.Text() {
		span.Set(trace.Text(trace.InputMessages, tracedMessages(r.Messages)))
	}
	return ctx, span
}

// endCall ends the span of a call. What the provider did not tell is not there.
func endCall(span *trace.Span, reply chat.Reply, err error) {
	if span == nil {
		return
	}
	defer span.Finish()
	if err != nil {
		fault := "cancelled"
		if e, ok := asError(err); ok {
			fault = string(e.Fault)
		}
		span.Set(trace.A(trace.ErrorType, fault))
		span.Fail(err.Error())
		return
	}
	if reply.Model != "" {
		span.Set(trace.A(trace.ResponseModel, reply.Model))
	}
	if !reply.Usage.Unknown {
		span.Set(trace.A(trace.InputTokens, reply.Usage.InputTokens),
			trace.A(trace.OutputTokens, reply.Usage.OutputTokens))
	}
	if span.Text() {
		span.Set(trace.Text(trace.OutputMessages, tracedMessages([]chat.Message{reply.Message()})))
	}
}

// tracedMessages writes messages as OpenTelemetry has them.
func tracedMessages(messages []chat.Message) string {
	type part struct {
		Type      string          `json:"type"`
		Content   string          `json:"content,omitempty"`
		ID        string          `json:"id,omitempty"`
		Name      string          `json:"name,omitempty"`
		Arguments json.RawMessage `json:"arguments,omitempty"`
		Response  string          `json:"response,omitempty"`
	}
	type message struct {
		Role  chat.Role `json:"role"`
		Parts []part    `json:"parts"`
	}
	said := make([]message, 0, len(messages))
	for _, m := range messages {
		out := message{Role: m.Role, Parts: []part{}}
		switch {
		case m.Role == chat.Tool:
			out.Parts = append(out.Parts, part{
				Type: "tool_call_response", ID: m.ToolCallID, Response: m.Content.String(),
			})
		case !m.Content.Empty():
			out.Parts = append(out.Parts, part{Type: "text", Content: m.Content.String()})
		}
		for _, call := range m.ToolCalls {
			args := call.Args
			if !json.Valid(args) {
				args = nil
			}
			out.Parts = append(out.Parts, part{Type: "tool_call", ID: call.ID, Name: call.Name, Arguments: args})
		}
		said = append(said, out)
	}
	data, err := json.Marshal(said)
	if err != nil { // texts and valid JSON can be written
		return ""
	}
	return string(data)
}
