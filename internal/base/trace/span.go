package trace

import (
	"context"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// Tracer records the spans of a process. It is not changed once a context has it.
type Tracer struct {
	trace.Tracer
	// Mask takes secrets out of everything that a span contains, unless the context has a mask of its own.
	Mask func(text string) string
	// Text is true where spans may contain message text.
	Text bool
}

// Attribute is a key with a string, a bool, an int or a float64.
type Attribute struct {
	Key   string
	Value any
	said  bool
}

// A returns an attribute.
func A(key string, value any) Attribute { return Attribute{Key: key, Value: value} }

// Text returns an attribute of message text, or of what may repeat it. It is recorded only where Tracer.Text is true.
func Text(key, text string) Attribute { return Attribute{key, text, true} }

// The kinds of spans.
const (
	Internal = trace.SpanKindInternal
	Server   = trace.SpanKindServer
	Client   = trace.SpanKindClient
)

// Bounds of the strings in a span, in bytes. Longer ones are cut.
const (
	maxText      = 32 << 10
	maxShortText = 1 << 10
)

// Span is a piece of work with its start and end. A nil Span records nothing. It is safe for concurrent use; after
// Finish it does not change.
type Span struct {
	span          trace.Span
	mask, private func(string) string
	text          bool
}

// Start starts a span below that of ctx. Its caller ends it with Finish. The span is nil where nothing is recorded.
func Start(ctx context.Context, name string, attributes ...Attribute) (context.Context, *Span) {
	return StartKind(ctx, Internal, name, attributes...)
}

// StartKind is Start for a span of a kind.
func StartKind(
	ctx context.Context, kind trace.SpanKind, name string, attributes ...Attribute,
) (context.Context, *Span) {
	p := at(ctx)
	if p.tracer == nil {
		return inSomeTrace(ctx), nil
	}
	return p.start(ctx, name, attributes, trace.WithSpanKind(kind))
}

// Root starts the span of a conversation, in the trace of that conversation. The span of ctx is linked to it.
func Root(ctx context.Context, conversationID, name string, attributes ...Attribute) (context.Context, *Span) {
	outer := trace.SpanContextFromContext(ctx)
	ctx = inTrace(ctx, idOf(conversationID))
	p := at(ctx)
	if p.tracer == nil {
		return ctx, nil
	}
	return p.start(ctx, name, attributes, trace.WithLinks(trace.Link{SpanContext: outer}))
}

func (p position) start(
	ctx context.Context, name string, attributes []Attribute, options ...trace.SpanStartOption,
) (context.Context, *Span) {
	ctx, span := p.tracer.Start(ctx, name, options...)
	if !span.IsRecording() {
		return ctx, nil
	}
	s := &Span{span: span, mask: p.mask, private: p.private, text: p.tracer.Text}
	if s.mask == nil {
		s.mask = p.tracer.Mask
	}
	if s.private == nil {
		s.private = s.mask
	}
	s.Rename(name)
	s.Set(p.shared...)
	s.Set(attributes...)
	return ctx, s
}

// Called adds the span of a tool that was called and has answered. The duration of most calls is unknown, which is 0
// milliseconds: calls at an agent are reported by its reply.
func Called(ctx context.Context, name string, milliseconds float64, args, result []byte) {
	p := at(ctx)
	if p.tracer == nil {
		return
	}
	started := time.Now()
	if milliseconds > 0 && milliseconds < 24*60*60*1000 {
		started = started.Add(-time.Duration(milliseconds * float64(time.Millisecond)))
	}
	attributes := []Attribute{A(Operation, ExecuteTool), A(ToolName, name)}
	_, span := p.start(ctx, ExecuteTool+" "+name, attributes, trace.WithTimestamp(started))
	if span.Text() {
		span.Set(Text(ToolArguments, string(args)), Text(ToolResult, string(result)))
	}
	span.Finish()
}

// Set adds attributes; an existing one with the same key is replaced.
func (s *Span) Set(attributes ...Attribute) {
	if s != nil {
		s.span.SetAttributes(s.values(attributes)...)
	}
}

// Rename gives the span another name.
func (s *Span) Rename(name string) {
	if s != nil {
		s.span.SetName(clean(name, s.mask, maxShortText))
	}
}

// Event adds something that happened.
func (s *Span) Event(name string, attributes ...Attribute) {
	if s != nil {
		s.span.AddEvent(name, trace.WithAttributes(s.values(attributes)...))
	}
}

// Fail marks the work as failed. The reason may be empty; it is recorded only where spans may contain message text,
// which errors repeat.
func (s *Span) Fail(reason string) {
	if s == nil {
		return
	}
	if !s.text {
		reason = ""
	}
	s.span.SetStatus(codes.Error, clean(reason, s.private, maxShortText))
}

// Text reports whether the span may contain message text.
func (s *Span) Text() bool { return s != nil && s.text }

// Finish ends the span. Later calls do nothing.
func (s *Span) Finish() {
	if s != nil {
		s.span.End()
	}
}

// values returns attributes as OpenTelemetry has them, without secrets. A value of another type than Attribute allows
// is left out.
func (s *Span) values(attributes []Attribute) []attribute.KeyValue {
	values := make([]attribute.KeyValue, 0, len(attributes))
	for _, a := range attributes {
		switch v := a.Value.(type) {
		case string:
			switch {
			case !a.said:
				values = append(values, attribute.String(a.Key, clean(v, s.mask, maxShortText)))
			case s.text:
				values = append(values, attribute.String(a.Key, clean(v, s.private, maxText)))
			}
		case bool:
			values = append(values, attribute.Bool(a.Key, v))
		case int:
			values = append(values, attribute.Int(a.Key, v))
		case float64:
			values = append(values, attribute.Float64(a.Key, v))
		}
	}
	return values
}

// clean returns a masked text as valid UTF-8 of at most so many bytes. It is masked first: a secret that is cut in two
// is not found.
func clean(text string, mask func(string) string, most int) string {
	if mask != nil {
		text = mask(text)
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "")
	}
	return text
}
