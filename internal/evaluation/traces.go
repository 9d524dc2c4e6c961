package evaluation

import (
	"context"

	"rehearse/internal/trace"
)

// tracing returns a context for the spans of the run, which hold none of its secrets.
func (e *Evaluation) tracing(ctx context.Context, run string) context.Context {
	secrets := e.setup.Secrets()
	return trace.Sharing(trace.Masked(ctx, secrets.Text, secrets.Text), trace.A(trace.RunID, run))
}
