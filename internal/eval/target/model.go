// Package target adapts systems under test to the runner: language models, flows in the process and behind HTTP, and
// the chatbots of websites.
package target

import (
	"cmp"
	"context"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/base/template"
	"github.com/rehearse-dev/rehearse/internal/base/tool"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/model/llm"
)

// Model is a language model as a target. It is sent the conversation and nothing else. It is safe for concurrent use.
type Model struct {
	Model llm.Model
	// Parameters apply to every request; their Messages are ignored. A ToolChoice that forces a call holds for the
	// first request of each turn.
	Parameters llm.Request
	// Tools answer the model's calls. Without any, a turn ends with the calls.
	Tools tool.Set
	// MaxToolRounds is how often a turn may go on with the results of tools; 0 means 8.
	MaxToolRounds int
	// Stream asks for replies in pieces.
	Stream bool
	// State is how the provider keeps the conversation (config.Model.State); empty sends all of it each time.
	State string
}

var _ runner.Target = (*Model)(nil)

func modelKind() Kind {
	return Kind{
		Name: "model", Doc: "a language model", Short: "PROVIDER:MODEL[@URL]",
		read: func(n source.Node, at config.Location) config.Target { return OfModel(at.Model(n)) },
	}
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
	t := &Model{
		Model: model, Parameters: llm.ParametersOf(m), Tools: m.Tools, MaxToolRounds: m.MaxToolRounds, State: m.State,
	}
	t.Stream = m.Stream != nil && *m.Stream
	t.Parameters.ToolChoice = m.ToolChoice
	for _, declared := range m.Tools {
		t.Parameters.Tools = append(t.Parameters.Tools, llm.Tool{
			Name: declared.Name, Description: declared.Description, Parameters: declared.Parameters,
		})
	}
	return t, nil
}

func (ModelConfig) asks(_ context.Context, m config.Model, _ Parts) (Dependencies, error) {
	return Dependencies{Models: []config.Model{m}}, nil
}

func (ModelConfig) complete() bool { return true }

// Open returns a session whose history starts with the test's input. The test's sampling takes precedence over
// Parameters.
func (m *Model) Open(_ context.Context, o runner.Opening) (runner.Session, error) {
	parameters := m.Parameters
	if s := o.Test.Sampling; s != nil {
		parameters.Temperature = cmp.Or(s.Temperature, parameters.Temperature)
		parameters.TopP = cmp.Or(s.TopP, parameters.TopP)
		parameters.Seed = cmp.Or(s.Seed, parameters.Seed)
	}
	said, err := before(o.Test)
	values := template.Values{
		ConversationID: o.ConversationID, SessionID: o.ConversationID, TestID: o.Test.ID, Trial: max(1, o.Trial),
		Vars: o.Test.Vars,
	}
	return &modelSession{
		Model: m, earlier: said, parameters: parameters, values: values, tools: m.Tools.Begin(),
		history: withResults(said),
	}, err
}

type modelSession struct {
	*Model
	earlier
	parameters llm.Request
	values     template.Values
	tools      *tool.Session
	history    []chat.Message
	// thread is the id by which the provider keeps the first kept messages of history; empty for none.
	thread string
	kept   int
}

// Send asks the model with the whole history, and again with the results of its tools until it calls none. It keeps the
// actual answer.
func (s *modelSession) Send(ctx context.Context, message chat.Content) (chat.Reply, error) {
	mark := s.tools.Mark()
	t := modelTurn{modelSession: s, values: s.values, said: append(slices.Clip(s.history), chat.Message{
		Role: chat.User, Content: message,
	}), thread: s.thread, kept: s.kept}
	t.values.Turn++
	t.values.Message, t.values.History = message.String(), s.history
	reply, err := t.take(ctx)
	if err != nil {
		s.tools.Return(mark)
		return reply, err
	}
	s.history, s.thread, s.kept = t.said, t.thread, t.kept
	s.values.Turn++
	return reply, nil
}

// Close does nothing: a model keeps no session.
func (s *modelSession) Close() error { return nil }
