// Package target adapts systems under test to the runner: language models, flows in the process and behind HTTP, and the chatbots of
// websites.
package target

import (
	"cmp"
	"context"

	"rehearse/internal/chat"
	"rehearse/internal/config"
	"rehearse/internal/llm"
	"rehearse/internal/runner"
)

// Model is a language model as a target. It is sent the conversation and nothing else. It is safe for concurrent use.
type Model struct {
	Model llm.Model
	// Parameters apply to every request; their Messages are ignored.
	Parameters llm.Request
}

var _ runner.Target = (*Model)(nil)

func openModel(c config.Target, p Parts) (runner.Target, error) {
	model, err := p.Model(c.Model)
	if err != nil {
		return nil, err
	}
	return &Model{Model: model, Parameters: llm.ParametersOf(c.Model)}, nil
}

// Open returns a session whose history starts with the test's input. The test's sampling takes precedence over Parameters.
func (m *Model) Open(_ context.Context, o runner.Opening) (runner.Session, error) {
	parameters := m.Parameters
	if s := o.Test.Sampling; s != nil {
		parameters.Temperature = cmp.Or(s.Temperature, parameters.Temperature)
		parameters.TopP = cmp.Or(s.TopP, parameters.TopP)
		parameters.Seed = cmp.Or(s.Seed, parameters.Seed)
	}
	said, err := before(o.Test)
	return &modelSession{Model: m, earlier: said, parameters: parameters, history: said}, err
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
	s.history = append(request.Messages, reply.Message())
	return reply, nil
}

// Close does nothing: a model keeps no session.
func (s *modelSession) Close() error { return nil }
