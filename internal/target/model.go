// Package target adapts systems under test to the runner: language models, flows in the process and behind HTTP, and the chatbots of
// websites.
package target

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"rehearse/internal/chat"
	"rehearse/internal/config"
	"rehearse/internal/llm"
	"rehearse/internal/runner"
	"rehearse/internal/source"
)

// Model is a language model as a target. It is sent the conversation and nothing else. It is safe for concurrent use.
type Model struct {
	Model llm.Model
	// Parameters apply to every request; their Messages are ignored.
	Parameters llm.Request
}

var _ runner.Target = (*Model)(nil)

func modelKind() Kind {
	return Kind{Name: "model", Doc: "a language model", Short: "PROVIDER:MODEL[@URL]", read: func(n source.Node, at config.Place) config.Target { return OfModel(at.Model(n)) }}
}

// OfModel returns the target that is a model.
func OfModel(m config.Model) config.Target {
	return config.Target{Kind: "model", Model: m, Options: ModelConfig{}}
}

// ModelConfig is a model as a target: it has no settings but the model's own.
type ModelConfig struct{}

func (ModelConfig) open(m config.Model, p Parts) (runner.Target, error) {
	model, err := p.Model(m)
	if err != nil {
		return nil, err
	}
	return &Model{Model: model, Parameters: llm.ParametersOf(m)}, nil
}

func (ModelConfig) asks(_ context.Context, m config.Model, _ Parts) (Asks, error) {
	return Asks{Models: []config.Model{m}}, nil
}

func (ModelConfig) complete() bool { return true }

// Open returns a session whose history starts with the test's input. The test's sampling takes precedence over Parameters.
func (m *Model) Open(_ context.Context, o runner.Opening) (runner.Session, error) {
	parameters := m.Parameters
	if s := o.Test.Sampling; s != nil {
		parameters.Temperature = cmp.Or(s.Temperature, parameters.Temperature)
		parameters.TopP = cmp.Or(s.TopP, parameters.TopP)
		parameters.Seed = cmp.Or(s.Seed, parameters.Seed)
	}
	said, err := before(o.Test)
	return &modelSession{Model: m, earlier: said, parameters: parameters, history: withResults(said)}, err
}

type modelSession struct {
	*Model
	earlier
	parameters llm.Request
	history    []chat.Message
}

// Send asks the model with the whole history and keeps the actual answer.
func (s *modelSession) Send(ctx context.Context, message chat.Content) (chat.Reply, error) {
	request := s.parameters
	request.Messages = append(s.history, chat.Message{Role: chat.User, Content: message})
	reply, err := s.Model.Model.Generate(ctx, request)
	if err != nil {
		return chat.Reply{}, err
	}
	s.history = append(append(request.Messages, reply.Message()), results(reply.ToolCalls, nil)...)
	return reply, nil
}

// withResults returns messages in which a tool message follows for each call of an assistant: providers refuse a history that lacks one.
// Tool messages that are there stay as they are.
func withResults(messages []chat.Message) []chat.Message {
	complete := make([]chat.Message, 0, len(messages))
	for i, m := range messages {
		complete = append(complete, m)
		if len(m.ToolCalls) == 0 && m.Role != chat.Tool || i+1 < len(messages) && messages[i+1].Role == chat.Tool {
			continue
		}
		// This is the last message of a group: an assistant's with calls, and the results that follow it.
		first := i
		for first > 0 && messages[first].Role == chat.Tool {
			first--
		}
		complete = append(complete, results(messages[first].ToolCalls, messages[first+1:i+1])...)
	}
	return slices.Clip(complete)
}

// results returns a tool message for each call that none of the given ones answers.
func results(calls []chat.ToolCall, given []chat.Message) []chat.Message {
	var messages []chat.Message
	for _, call := range calls {
		if !slices.ContainsFunc(given, func(m chat.Message) bool { return m.ToolCallID == call.ID }) {
			messages = append(messages, chat.Message{Role: chat.Tool, ToolCallID: call.ID, Content: chat.Content{Text: resultOf(call)}})
		}
	}
	return messages
}

// resultOf returns what the model reads as the result of a call: what is known of it, or that it was not carried out.
func resultOf(call chat.ToolCall) string {
	if len(call.Result) > 0 {
		return string(call.Result)
	}
	data, err := json.Marshal(map[string]string{"error": "the tool " + call.Name + " was not carried out"})
	if err != nil { // a text is always JSON
		return "error"
	}
	return string(data)
}

// Close does nothing: a model keeps no session.
func (s *modelSession) Close() error { return nil }
