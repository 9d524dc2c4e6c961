package trace

import (
	"context"
	"slices"

	"go.opentelemetry.io/otel/trace"
)

// position is what a context has on traces, besides its span.
type position struct {
	tracer *Tracer
	// visitors is the tracer of the turns that visitors have with a chatbot.
	visitors *Tracer
	// mask takes secrets out of what spans hold; private takes more out of what was said.
	mask, private func(string) string
	// shared are the attributes of all spans below.
	shared  []Attribute
	role    string
	attempt int
}

type key struct{}

func at(ctx context.Context) position {
	if p, ok := ctx.Value(key{}).(*position); ok {
		return *p
	}
	return position{}
}

func (p position) in(ctx context.Context) context.Context { return context.WithValue(ctx, key{}, &p) }

// With returns a context whose spans go to a tracer, and those of visitors of chatbots (ForVisitor) to another; nil
// keeps none.
func With(ctx context.Context, t, visitors *Tracer) context.Context {
	p := at(ctx)
	p.tracer, p.visitors = t, visitors
	return p.in(ctx)
}

// Recording reports whether spans that begin with ctx may be kept.
func Recording(ctx context.Context) bool { return at(ctx).tracer != nil }

// ForVisitor returns a context for a turn that a visitor has with a chatbot.
func ForVisitor(ctx context.Context) context.Context {
	p := at(ctx)
	p.tracer = p.visitors
	return p.in(ctx)
}

// Masked returns a context whose spans are masked by a function, instead of by that of the tracer. What was said (Said)
// is masked by private.
func Masked(ctx context.Context, mask, private func(text string) string) context.Context {
	p := at(ctx)
	p.mask, p.private = mask, private
	return p.in(ctx)
}

// Sharing returns a context whose spans all have some attributes.
func Sharing(ctx context.Context, attributes ...Attribute) context.Context {
	p := at(ctx)
	p.shared = slices.Concat(p.shared, attributes)
	return p.in(ctx)
}

// As returns a context whose models play a role: Target, Judge or User.
func As(ctx context.Context, role string) context.Context {
	p := at(ctx)
	p.role = role
	return p.in(ctx)
}

// RoleOf returns the role of the models that are asked with ctx; Target where nobody said it.
func RoleOf(ctx context.Context) string {
	if role := at(ctx).role; role != "" {
		return role
	}
	return Target
}

// Attempted returns a context for the nth time that a conversation is held, from 1.
func Attempted(ctx context.Context, n int) context.Context {
	p := at(ctx)
	p.attempt = n
	return p.in(ctx)
}

// AttemptOf returns which time it is that a conversation is held: 1 where nobody said it.
func AttemptOf(ctx context.Context) int { return max(1, at(ctx).attempt) }

// Carry returns ctx with the span of another context, and with everything else that this context has on traces.
func Carry(ctx, from context.Context) context.Context {
	return trace.ContextWithSpan(at(from).in(ctx), trace.SpanFromContext(from))
}

// About returns the attributes that all spans of ctx have; of several with one key the last holds.
func About(ctx context.Context) []Attribute { return slices.Clone(at(ctx).shared) }

// MaskOf returns what takes secrets out of the spans of ctx; nil where nothing does.
func MaskOf(ctx context.Context) func(text string) string { return at(ctx).mask }
