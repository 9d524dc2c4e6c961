package target

import (
	"context"
	"net/url"

	"github.com/rehearse-dev/rehearse/internal/base/trace"
)

// sending begins the span of one request to an agent; the address is empty for an agent in the process.
func sending(ctx context.Context, kind, address string) (context.Context, *trace.Span) {
	of := trace.Client
	if address == "" {
		of = trace.Internal
	}
	ctx, span := trace.StartKind(ctx, of, trace.Send)
	if span == nil {
		return ctx, nil
	}
	span.Set(trace.A(trace.TargetKind, kind))
	if address == "" {
		return ctx, span
	}
	if u, err := url.Parse(address); err == nil {
		span.Set(trace.A(trace.ServerAddress, u.Hostname()))
	}
	return ctx, span
}

// sent ends the span of a request.
func sent(span *trace.Span, err error) {
	if err != nil {
		span.Fail(err.Error())
	}
	span.Finish()
}
