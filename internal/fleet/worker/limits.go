package worker

import (
	"context"

	"github.com/rehearse-dev/rehearse/internal/model/llm"
	"github.com/rehearse-dev/rehearse/internal/run/natsconn"
)

// Limits makes the limits of providers hold over all processes of a NATS.
func Limits(leased *natsconn.Limits) *llm.Limits { return llm.SharedLimits(sharedLimits{leased}) }

type sharedLimits struct{ leased *natsconn.Limits }

// Begin implements llm.Shared.
func (s sharedLimits) Begin(ctx context.Context, key string, a llm.Allowance) (func(int), error) {
	return s.leased.Begin(ctx, key, natsconn.Limit{
		RequestsPerMinute: a.RequestsPerMinute, TokensPerMinute: a.TokensPerMinute, Concurrency: a.Concurrency,
	})
}
