package evaluation

import (
	"context"

	"github.com/rehearse-dev/rehearse/internal/base/trace"
)

// tracing returns a context for the spans of the run, which hold none of its secrets.
func (e *Evaluation) tracing(ctx context.Context, run string) context.Context {
	private := e.setup.Private()
	said := func(text string) string { return string(private.Bytes([]byte(text))) }
	return trace.Sharing(trace.Masked(ctx, e.setup.Secrets().Text, said), trace.A(trace.RunID, run))
}
