package llm

import (
	"cmp"
	"context"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/config"
)

// ParametersOf returns the sampling parameters of a configured model as the part of a request that they are.
func ParametersOf(m config.Model) Request {
	return Request{Temperature: m.Temperature, TopP: m.TopP, Seed: m.Seed, MaxTokens: m.MaxTokens}
}

// WithParameters returns model with the parameters of every request that leaves them open; the rest of parameters is
// ignored.
func WithParameters(model Model, parameters Request) Model { return &parametrised{model, parameters} }

type parametrised struct {
	Model
	parameters Request
}

// Generate asks the model with the parameters that the request leaves open.
func (m *parametrised) Generate(ctx context.Context, r Request) (chat.Reply, error) {
	r.Temperature, r.TopP = cmp.Or(r.Temperature, m.parameters.Temperature), cmp.Or(r.TopP, m.parameters.TopP)
	r.Seed, r.MaxTokens = cmp.Or(r.Seed, m.parameters.Seed), cmp.Or(r.MaxTokens, m.parameters.MaxTokens)
	return m.Model.Generate(ctx, r)
}
