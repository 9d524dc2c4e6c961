package sitebot

import (
	"context"

	"github.com/rehearse-dev/rehearse/graph"
	"github.com/rehearse-dev/rehearse/internal/base/trace"
)

// spans is the observer that makes each node a span, named as the node.
type spans struct{}

type nodeSpan struct{}

// NodeBegan begins the span, where spans are kept: a turn has many nodes.
func (spans) NodeBegan(ctx context.Context, v graph.Visit) context.Context {
	if !trace.Recording(ctx) {
		return ctx
	}
	ctx, span := trace.Start(ctx, v.Node)
	if span == nil {
		return ctx
	}
	return context.WithValue(ctx, nodeSpan{}, span)
}

// NodeEnded ends the span, with what became of the node.
func (spans) NodeEnded(ctx context.Context, v graph.Visit) {
	span, _ := ctx.Value(nodeSpan{}).(*trace.Span)
	if span == nil {
		return
	}
	status := "ok"
	switch {
	case v.FellBack:
		status = "fell_back"
	case v.Err != nil:
		status = "failed"
	}
	span.Set(trace.A(trace.NodeStatus, status))
	if v.Err != nil {
		span.Fail(v.Err.Error())
	}
	span.Finish()
}
